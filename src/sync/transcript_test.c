/* Whole conversations as text: tests/sync/NAME.sync holds events, and below each, indented, what
 * the machine made of it. Each file is run and must come out as it is. Run with
 * STRAIT_UPDATE_GOLDEN=1 to write them anew, and read the difference before you commit it.
 *
 *     machine BARRIER [staleness N] [deadline N] [gate N] [ordered] [outside]    a new machine
 *     chunks N                     so many more
 *     at N                         it is now N ns
 *     join M [rank R]              member M
 *     resume M done K              member M after a restart
 *     continue                     all are back who will be
 *     leave M, timeout
 *     push M C@K, read M C@K       member, chunk, clock
 *     clock M K
 *     release C@K [not counted]    all sites are done with the chunk's round
 *     restart                      the site has begun long ago
 *     restore C V                  chunk C holds version V
 *     holds C M K                  chunk C contains the updates of M up to K
 *     state                        show it */

#include "base/text.h"
#include "sync/testing.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>

enum { FILE_BYTES_MAX = 1 << 17, LINE_BYTES_MAX = 128, FILES_MIN = 14 };

/* One file being run. */
static struct {
    const char *path;
    int line;
    bool made; /* .sync is there. */
    struct sync sync;
    int64_t now_ns;
    struct text out;
    struct testing_actions actions;
} t;

static void say_closes(uint32_t from, uint32_t to)
{
    const struct sync_action *first = &t.actions.list[from];

    if (to - from == 1) {
        text_addf(&t.out, "  close %u@%" PRIu64 "\n", first->chunk, first->clock);
    } else {
        text_addf(&t.out, "  close %u-%u@%" PRIu64 "\n", first->chunk, t.actions.list[to - 1].chunk,
                  first->clock);
    }
}

/* Chunks that close one after the other with the same label are one line. */
static uint32_t say_close(uint32_t from)
{
    const struct sync_action *a = t.actions.list;
    uint32_t to = from + 1;

    while (to < t.actions.count && a[to].type == SYNC_CLOSE && a[to].clock == a[from].clock &&
           a[to].chunk == a[to - 1].chunk + 1) {
        to++;
    }
    say_closes(from, to);
    return to;
}

static void say_action(const struct sync_action *a)
{
    const char *name = sync_action_name(a->type);

    switch (a->type) {
    case SYNC_ADMIT:
        text_addf(&t.out, "  %s %u at %" PRIu64 "\n", name, a->member, a->clock);
        break;
    case SYNC_EXPIRE:
        text_addf(&t.out, "  %s %u of %" PRIu64 "\n", name, a->member, a->clock);
        break;
    case SYNC_GATHER:
        text_addf(&t.out, "  %s %u@%" PRIu64 "\n", name, a->chunk, a->clock);
        break;
    case SYNC_ADVANCE:
        text_addf(&t.out, "  %s %" PRIu64 "\n", name, a->clock);
        break;
    case SYNC_REFUSE:
        text_addf(&t.out, "  %s: %s, the %s would be %" PRIu64 "\n", name,
                  sync_reason_name(a->reason), a->reason == SYNC_AHEAD ? "last" : "first",
                  a->clock);
        break;
    default:
        text_addf(&t.out, "  %s\n", name);
        break;
    }
}

static void step(struct sync_event event)
{
    enum err rc;

    event.now_ns = t.now_ns;
    rc = testing_step(&t.sync, &event, &t.actions);
    if (rc != OK) {
        text_addf(&t.out, "  error: %s\n", err_string(rc));
        return;
    }
    for (uint32_t i = 0; i < t.actions.count;) {
        if (t.actions.list[i].type == SYNC_CLOSE) {
            i = say_close(i);
        } else {
            say_action(&t.actions.list[i++]);
        }
    }
    if (t.actions.parts > 1) {
        text_addf(&t.out, "  in %u parts\n", t.actions.parts);
    }
}

static void say_state(void)
{
    text_addf(&t.out, "  version %" PRIu64, sync_version(&t.sync));
    if (sync_deadline(&t.sync) != SYNC_NEVER) {
        text_addf(&t.out, ", deadline %" PRId64, sync_deadline(&t.sync));
    }
    for (uint32_t m = 0; m < SYNC_MEMBERS_MAX; m++) {
        if (sync_is_member(&t.sync, m)) {
            text_addf(&t.out, ", %u done %" PRIu64 "%s", m, sync_member_clock(&t.sync, m),
                      sync_waits_for(&t.sync, m) ? " (awaited)" : "");
        }
    }
    text_add(&t.out, "\n");
    for (uint32_t c = 0; c < t.sync.chunks_count; c++) {
        text_addf(&t.out, "  chunk %u@%" PRIu64 " contains", c, sync_chunk_version(&t.sync, c));
        for (uint32_t m = 0; m < SYNC_MEMBERS_MAX; m++) {
            if (sync_contained(&t.sync, c, m) > 0) {
                text_addf(&t.out, " %u@%" PRIu64, m, sync_contained(&t.sync, c, m));
            }
        }
        text_add(&t.out, "\n");
    }
}

static void make_machine(char *words)
{
    struct sync_config config = {0};
    struct err_text text;
    char *save;
    char *word = strtok_r(words, " ", &save);

    config.policy = word == NULL ? NULL : sync_policy_find(word);
    if (config.policy == NULL) {
        fail_msg("%s:%d: no such barrier", t.path, t.line);
    }
    while ((word = strtok_r(NULL, " ", &save)) != NULL) {
        bool alone = strcmp(word, "ordered") == 0 || strcmp(word, "outside") == 0;
        const char *value = alone ? "1" : strtok_r(NULL, " ", &save);
        uint64_t number = value == NULL ? 0 : strtoull(value, NULL, 10);

        if (strcmp(word, "staleness") == 0) {
            config.staleness = number;
        } else if (strcmp(word, "deadline") == 0) {
            config.deadline_ns = (int64_t)number;
        } else if (strcmp(word, "gate") == 0) {
            config.members_min = (uint32_t)number;
        } else if (strcmp(word, "ordered") == 0) {
            config.fixed_order = true;
        } else if (strcmp(word, "outside") == 0) {
            config.outside = true;
        } else {
            fail_msg("%s:%d: machine with what?", t.path, t.line);
        }
    }
    if (t.made) {
        sync_deinit(&t.sync);
    }
    t.now_ns = 0;
    t.made = sync_init(&t.sync, &config, &text) == OK;
    if (!t.made) {
        text_addf(&t.out, "  error: %s\n", text.text);
    }
}

/* Lines that are not events. */
static bool run_setting(const char *line)
{
    uint32_t a, b;
    uint64_t clock;
    int end = 0;

    if (sscanf(line, "chunks %u%n", &a, &end) == 1 && line[end] == '\0') {
        assert_int_equal(sync_grow(&t.sync, a), OK);
    } else if (sscanf(line, "at %" SCNd64 "%n", &t.now_ns, &end) == 1 && line[end] == '\0') {
        return true;
    } else if (sscanf(line, "restore %u %" SCNu64 "%n", &a, &clock, &end) == 2 &&
               line[end] == '\0') {
        sync_restore(&t.sync, a, clock);
    } else if (sscanf(line, "holds %u %u %" SCNu64 "%n", &a, &b, &clock, &end) == 3 &&
               line[end] == '\0') {
        sync_restore_member(&t.sync, a, b, clock);
    } else if (strcmp(line, "restart") == 0) {
        sync_restart(&t.sync);
    } else if (strcmp(line, "state") == 0) {
        say_state();
    } else {
        return false;
    }
    assert_true(sync_invariant(&t.sync));
    return true;
}

static bool parse_event(const char *line, struct sync_event *e)
{
    char word[16];
    uint32_t *m = &e->member;
    int end = 0, at = 0, more = 0;

    if (sscanf(line, "%15s%n", word, &at) != 1) {
        return false;
    }
    for (e->type = 0; e->type < SYNC_EVENTS && strcmp(word, sync_event_name(e->type)) != 0;) {
        e->type++;
    }
    line += at;
    switch (e->type) {
    case SYNC_TIMEOUT:
    case SYNC_CONTINUE:
        return line[0] == '\0';
    case SYNC_LEAVE:
        (void)sscanf(line, " %u%n", m, &end);
        break;
    case SYNC_JOIN:
        (void)sscanf(line, " %u%n", m, &end);
        e->rank = e->member;
        (void)sscanf(line + end, " rank %u%n", &e->rank, &more);
        end += more;
        break;
    case SYNC_CLOCK:
        (void)sscanf(line, " %u %" SCNu64 "%n", m, &e->clock, &end);
        break;
    case SYNC_RELEASE:
        (void)sscanf(line, " %u@%" SCNu64 "%n", &e->chunk, &e->clock, &end);
        (void)sscanf(line + end, " not counted%n", &more);
        e->counted = more == 0;
        end += more;
        break;
    case SYNC_PUSH:
    case SYNC_READ:
        (void)sscanf(line, " %u %u@%" SCNu64 "%n", m, &e->chunk, &e->clock, &end);
        break;
    default:
        e->type = SYNC_JOIN;
        e->resume = true;
        e->rank = 0;
        (void)(strcmp(word, "resume") == 0 &&
               sscanf(line, " %u done %" SCNu64 "%n", m, &e->clock, &end));
        break;
    }
    return end > 0 && line[end] == '\0';
}

static void run_line(char *line)
{
    struct sync_event event = {0};

    if (line[0] == '\0' || line[0] == '#') {
        return;
    }
    if (strncmp(line, "machine ", 8) == 0) {
        make_machine(line + 8);
        return;
    }
    assert_true(t.made);
    if (run_setting(line)) {
        return;
    }
    if (!parse_event(line, &event)) {
        fail_msg("%s:%d: not understood: %s", t.path, t.line, line);
    }
    step(event);
}

/* Copy the lines of the script, and put the results where they belong. */
static void run_text(const char *script)
{
    while (*script != '\0') {
        size_t size = strcspn(script, "\n");
        char line[LINE_BYTES_MAX];

        t.line++;
        assert_true(size < sizeof(line));
        memcpy(line, script, size);
        line[size] = '\0';
        script += size + (script[size] == '\n');
        if (strncmp(line, "  ", 2) != 0) {
            text_addf(&t.out, "%s\n", line);
            run_line(line);
        }
    }
}

static void read_whole(const char *path, char *bytes)
{
    FILE *file = fopen(path, "re");
    size_t size;

    assert_non_null(file);
    size = fread(bytes, 1, FILE_BYTES_MAX - 1, file);
    assert_true(size < FILE_BYTES_MAX - 1);
    bytes[size] = '\0';
    (void)fclose(file);
}

static void write_whole(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Point at the first line that differs. */
static void compare(const char *path, const char *expected, const char *got)
{
    const char *start = got;
    int line = 1;

    if (strcmp(expected, got) == 0) {
        return;
    }
    for (; *expected != '\0' && *expected == *got; expected++, got++) {
        line += *got == '\n';
        start = *got == '\n' ? got + 1 : start;
    }
    expected -= got - start;
    fail_msg("%s:%d: from here:\n--- expected\n%.300s\n--- got\n%.300s", path, line, expected,
             start);
}

static void check_file(const char *name)
{
    static char script[FILE_BYTES_MAX];
    char path[512];

    (void)snprintf(path, sizeof(path), "tests/sync/%s", name);
    memset(&t, 0, sizeof(t));
    t.path = path;
    assert_int_equal(text_init(&t.out, FILE_BYTES_MAX), OK);
    read_whole(path, script);
    run_text(script);
    assert_false(t.out.failed);
    if (t.made) {
        sync_deinit(&t.sync);
    }
    if (getenv("STRAIT_UPDATE_GOLDEN") != NULL) {
        write_whole(path, t.out.chars);
    } else {
        compare(path, script, t.out.chars);
    }
    text_deinit(&t.out);
}

static int is_script(const struct dirent *entry)
{
    size_t size = strlen(entry->d_name);

    return size > 5 && strcmp(entry->d_name + size - 5, ".sync") == 0;
}

static void test_every_conversation_comes_out_as_written(void **state)
{
    struct dirent **entries;
    int count = scandir("tests/sync", &entries, is_script, alphasort);

    (void)state;
    assert_true(count >= FILES_MIN);
    for (int i = 0; i < count; i++) {
        check_file(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_conversation_comes_out_as_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
