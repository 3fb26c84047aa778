/* The bytes on the way, against a plain array. */

#include "emu/proxy/queue.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MODEL_BYTES = 1 << 20, PIECE_BYTES = 64 * 1024 };

struct model {
    struct emu_queue queue;
    struct emu_blocks blocks;
    struct rng rng;
    uint8_t bytes[MODEL_BYTES]; /* What is in the queue. */
    size_t size;
};

static struct model model;

static void model_add(struct model *m, uint32_t room, uint32_t bytes)
{
    struct iovec iov[EMU_QUEUE_IOV_MAX];
    uint32_t left = bytes;
    size_t total = 0;
    int count = 0;

    assert_int_equal(emu_queue_reserve(&m->queue, &m->blocks, room, iov, &count), OK);
    for (int i = 0; i < count; i++) {
        uint8_t *at = iov[i].iov_base;

        total += iov[i].iov_len;
        for (size_t k = 0; k < iov[i].iov_len && left > 0; k++, left--) {
            at[k] = (uint8_t)rng_next(&m->rng);
            m->bytes[m->size++] = at[k];
        }
    }
    assert_int_equal(total, room);
    emu_queue_commit(&m->queue, &m->blocks, bytes);
}

static void model_check(struct model *m, uint64_t bytes)
{
    struct iovec iov[EMU_QUEUE_IOV_MAX];
    int count = emu_queue_peek(&m->queue, bytes, iov);
    size_t at = 0;

    assert_int_equal(emu_queue_bytes(&m->queue), m->size);
    for (int i = 0; i < count; i++) {
        assert_true(iov[i].iov_len > 0);
        assert_memory_equal(iov[i].iov_base, m->bytes + at, iov[i].iov_len);
        at += iov[i].iov_len;
    }
    assert_true(at <= bytes);
    assert_true(at == bytes || at == m->size || count == EMU_QUEUE_IOV_MAX);
}

static void model_drop(struct model *m, uint64_t bytes)
{
    emu_queue_drop(&m->queue, &m->blocks, bytes);
    memmove(m->bytes, m->bytes + bytes, m->size - bytes);
    m->size -= bytes;
}

static void model_close(struct model *m)
{
    emu_queue_clear(&m->queue, &m->blocks);
    emu_blocks_deinit(&m->blocks);
    memset(m, 0, sizeof(*m));
}

static void test_bytes_come_out_as_they_went_in(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        rng_init(&model.rng, seed);
        for (int i = 0; i < 500; i++) {
            uint32_t room = 1 + (uint32_t)rng_below(&model.rng, PIECE_BYTES);

            if (model.size + room <= MODEL_BYTES && rng_chance(&model.rng, 550000)) {
                model_add(&model, room, (uint32_t)rng_below(&model.rng, room + 1));
            } else if (model.size > 0) {
                model_drop(&model, rng_below(&model.rng, model.size + 1));
            }
            model_check(&model, rng_below(&model.rng, model.size + 10));
            if (model.size > 0) {
                uint64_t at = rng_below(&model.rng, model.size);

                *emu_queue_at(&model.queue, at) ^= 1;
                model.bytes[at] ^= 1;
            }
        }
        model_close(&model);
    }
}

static void test_blocks_are_used_again_and_go_back_beyond_the_spare_ones(void **state)
{
    int64_t before = mem_bytes_held();

    (void)state;
    rng_init(&model.rng, 1);
    model_add(&model, PIECE_BYTES, PIECE_BYTES);
    model_drop(&model, PIECE_BYTES);
    assert_int_equal(model.blocks.spare_count, 2);
    model_add(&model, PIECE_BYTES, 1);
    assert_int_equal(model.blocks.spare_count, 1);
    for (int i = 0; i < EMU_BLOCKS_SPARE; i++) {
        model.size = 0; /* Only the queue counts here. */
        model_add(&model, PIECE_BYTES, PIECE_BYTES);
    }
    emu_queue_clear(&model.queue, &model.blocks);
    assert_int_equal(model.blocks.spare_count, EMU_BLOCKS_SPARE);
    model_close(&model);
    assert_true(mem_bytes_held() == before);
}

static void test_without_memory_nothing_changes(void **state)
{
    struct iovec iov[EMU_QUEUE_IOV_MAX];
    int count;

    (void)state;
    rng_init(&model.rng, 1);
    model_add(&model, 1000, 1000);
    for (uint64_t k = 1; k <= 2; k++) {
        emu_blocks_deinit(&model.blocks);
        mem_fail_at(k, 1);
        assert_int_equal(emu_queue_reserve(&model.queue, &model.blocks, PIECE_BYTES, iov, &count),
                         ERR_NOMEM);
        mem_fail_at(0, 0);
        model_check(&model, 2000);
    }
    model_add(&model, PIECE_BYTES, 500);
    model_check(&model, 2000);
    model_close(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_come_out_as_they_went_in),
        cmocka_unit_test(test_blocks_are_used_again_and_go_back_beyond_the_spare_ones),
        cmocka_unit_test(test_without_memory_nothing_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
