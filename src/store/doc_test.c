/* What is said to read our files reads them: the Python of docs/CHECKPOINT.md a checkpoint, and
 * NumPy, where it is installed, a .npy file. */

#include "store/checkpoint_testing.h"
#include "store/dir_testing.h"
#include "store/npy.h"

static const char object[] = "eu/shard-0003/00000000000000000042.ckpt";

struct desk {
    char path[64];
    struct loop *loop;
    struct store *store;
};

static int desk_setup(void **state)
{
    struct desk *d = mem_zalloc(sizeof(*d));
    struct err_text text;

    assert_non_null(d);
    dir_testing_make_on_disk(d->path);
    assert_int_equal(loop_create_manual(0, &d->loop), OK);
    assert_int_equal(store_dir_create(d->path, d->loop, &d->store, &text), OK);
    *state = d;
    return 0;
}

static int desk_teardown(void **state)
{
    struct desk *d = *state;

    store_destroy(d->store);
    loop_destroy(d->loop);
    dir_testing_remove(d->path);
    mem_free(d);
    return 0;
}

/* Write the first block of Python of the page to a file. */
static void write_script(const struct desk *d)
{
    FILE *page = fopen(STRAIT_SOURCE_DIR "/docs/CHECKPOINT.md", "r");
    char line[512];
    FILE *script;
    bool inside = false;
    uint32_t lines = 0;

    (void)snprintf(line, sizeof(line), "%s/read.py", d->path);
    script = fopen(line, "w");
    assert_non_null(page);
    assert_non_null(script);
    while (fgets(line, sizeof(line), page) != NULL) {
        if (inside && strcmp(line, "```\n") == 0) {
            break;
        }
        if (inside) {
            assert_true(fputs(line, script) >= 0);
            lines++;
        }
        inside = inside || strcmp(line, "```python\n") == 0;
    }
    assert_true(lines > 10);
    assert_int_equal(fclose(page), 0);
    assert_int_equal(fclose(script), 0);
}

/* Run a command in the folder; returns its exit status, and what it printed. */
static int run(const struct desk *d, const char *command, char *out, size_t size)
{
    char line[1024];
    size_t done;
    FILE *pipe;
    int status;

    assert_true(snprintf(line, sizeof(line), "cd '%s' && exec '%s' %s 2>&1", d->path, STRAIT_PYTHON,
                         command) < (int)sizeof(line));
    pipe = popen(line, "r");
    assert_non_null(pipe);
    done = fread(out, 1, size - 1, pipe);
    out[done] = '\0';
    status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_the_python_of_the_page_reads_a_checkpoint(void **state)
{
    const struct checkpoint_member members[] = {{7, 1, 41}, {9, 2, 42}};
    const float values[] = {1.5f, -2.5f, 3.0f};
    const struct sample s = {
        .head = {42, 3, 8, 40, 1700000000000000, "eu", "{\"tables\": [\"w\"]}"},
        .chunk_count = 3,
        .chunks = {{0, 0, 6, 42, 2, members, 3, values},
                   {0, 1, 6, 42, 0, NULL, 3, values},
                   {1, 0, 0, 41, 1, members, 1, values}},
    };
    struct desk *d = *state;
    char out[4096];
    uint8_t *bytes;
    size_t size;

    write_script(d);
    assert_int_equal(sample_write(d->loop, d->store, &s), OK);
    assert_int_equal(run(d, "read.py eu/shard-0003/00000000000000000042.ckpt", out, sizeof(out)),
                     0);
    assert_string_equal(
        out, "checkpoint 42 of eu, shard 3 of 8: {\"tables\": [\"w\"]}\n"
             "table 0 plane 0 chunk 6 round 42: [1.5, -2.5, 3.0] {'worker 7': 41, 'worker 9': 42}\n"
             "table 0 plane 1 chunk 6 round 42: [1.5, -2.5, 3.0] {}\n"
             "table 1 plane 0 chunk 0 round 41: [1.5] {'worker 7': 41}\n");
    bytes = object_bytes(d->store, object, &size);
    bytes[200] ^= 1;
    assert_int_equal(store_put(d->loop, d->store, object, bytes, size), OK);
    mem_free(bytes);
    assert_int_equal(run(d, "read.py eu/shard-0003/00000000000000000042.ckpt", out, sizeof(out)),
                     1);
    assert_string_equal(out, "eu/shard-0003/00000000000000000042.ckpt: damaged\n");
}

static void test_numpy_reads_an_array(void **state)
{
    const float values[] = {1, 2, 3, 4, 5, 6};
    uint8_t bytes[NPY_HEADER_BYTES + sizeof(values)];
    struct desk *d = *state;
    char out[4096];

    if (run(d, "-c 'import numpy'", out, sizeof(out)) != 0) {
        print_message("SKIPPED [1] NumPy is not installed\n");
        skip();
    }
    npy_header(3, 2, bytes);
    memcpy(bytes + NPY_HEADER_BYTES, values, sizeof(values));
    assert_int_equal(store_put(d->loop, d->store, "a.npy", bytes, sizeof(bytes)), OK);
    assert_int_equal(run(d,
                         "-c 'import numpy; a = numpy.load(\"a.npy\"); print(a.shape, a.dtype, "
                         "a.flags.c_contiguous, a.tolist())'",
                         out, sizeof(out)),
                     0);
    assert_string_equal(out, "(3, 2) float32 True [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_python_of_the_page_reads_a_checkpoint, desk_setup,
                                        desk_teardown),
        cmocka_unit_test_setup_teardown(test_numpy_reads_an_array, desk_setup, desk_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
