/* Fuzz what a worker finds in its state folder, with the input as it is and with its head and
 * checks put right: it is used whole or refused with a reason, and what is used is saved as the
 * same bytes. The job is lda, which does not take every byte. */

#include "run/trainer/worker_state.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "store/memory.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_BYTES_MAX = 64 * 1024 };

static void fuzz_done(enum err rc, void *user)
{
    CHECK(rc == OK);
    *(bool *)user = true;
}

static void fuzz_wait(struct loop *loop, const bool *done)
{
    while (!*done) {
        loop_manual_advance(loop, loop_manual_next_ns(loop));
    }
}

static struct app *fuzz_job(void)
{
    static const struct app_option options[] = {
        {"documents", "9", 0}, {"vocabulary", "20", 0}, {"tokens", "12", 0}, {"topics", "5", 0}};
    const struct app_config config = {
        .job = "lda", .workers = 1, .seed = 3, .options = options, .option_count = 4};
    struct err_text text;
    struct app *app;

    CHECK(app_create(&config, &app, &text) == OK);
    return app;
}

/* The same state under a head that this job would have written. */
static void fuzz_seal(const struct app *app, uint8_t *bytes, size_t size)
{
    struct run_state_head head = {.job = "lda", .workers = 1, .serial = 1, .clock = 1};
    uint8_t both[16];

    head.about = app->ops->state->about(app);
    head.size = size - RUN_STATE_HEAD_BYTES - RUN_STATE_END_BYTES;
    run_state_head_encode(&head, bytes);
    bytes_store64(both, bytes_load64(bytes + RUN_STATE_HEAD_BYTES - 8));
    bytes_store64(both + 8, hash_bytes(bytes + RUN_STATE_HEAD_BYTES, head.size));
    bytes_store64(bytes + size - RUN_STATE_END_BYTES,
                  head.size > 0 ? hash_bytes(both, sizeof(both)) : bytes_load64(both));
}

static void fuzz_try(struct app *app, const uint8_t *bytes, size_t size)
{
    const struct store_memory_config memory = {1 << 20, 0};
    struct run_state_config config = {.place = "here", .app = app, .workers = 1};
    struct err_text text = {""};
    struct run_state *state;
    struct store_writer *w;
    uint64_t clock = 0;
    bool done = false;

    CHECK(loop_create_manual(0, &config.loop) == OK);
    CHECK(store_memory_create(&memory, config.loop, &config.store) == OK);
    CHECK(store_begin(config.store, "worker-0-a", &w) == OK);
    CHECK(size == 0 || store_append(w, bytes, size) == OK);
    store_commit(w, fuzz_done, &done);
    fuzz_wait(config.loop, &done);
    if (run_state_create(&config, &state, &text) != OK) {
        CHECK(text.text[0] != '\0');
        store_destroy(config.store);
        loop_destroy(config.loop);
        return;
    }
    if (run_state_load(state, UINT64_MAX, &clock, &text) == OK) {
        uint8_t saved[INPUT_BYTES_MAX];
        size_t payload = size - RUN_STATE_HEAD_BYTES - RUN_STATE_END_BYTES;

        CHECK(payload == app->ops->state->size(app));
        app->ops->state->save(app, 0, saved, payload);
        CHECK(memcmp(saved, bytes + RUN_STATE_HEAD_BYTES, payload) == 0);
    } else {
        CHECK(text.text[0] != '\0');
    }
    run_state_destroy(state);
    loop_destroy(config.loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[INPUT_BYTES_MAX];
    struct app *app;

    if (size > sizeof(bytes)) {
        return 0;
    }
    app = fuzz_job();
    fuzz_try(app, data, size);
    if (size >= RUN_STATE_HEAD_BYTES + RUN_STATE_END_BYTES) {
        memcpy(bytes, data, size);
        fuzz_seal(app, bytes, size);
        fuzz_try(app, bytes, size);
    }
    app_destroy(app);
    return 0;
}
