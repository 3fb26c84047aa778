/* The metrics of a lane that shares with another site. */

#include "node/testing_duo.h"
#include "obs/snapshot.h"

enum { SNAPSHOT_BYTES = 1 << 18 };

/* True: the metrics of the first site have that line. */
static bool duo_shows(const struct duo *d, const char *line)
{
    struct obs_snapshot *snapshot;
    struct text out;
    bool shows;

    assert_int_equal(obs_snapshot_create(d->registries, 1, &snapshot), OK);
    assert_int_equal(text_init(&out, SNAPSHOT_BYTES), OK);
    obs_snapshot_prometheus(snapshot, &out);
    assert_false(out.failed);
    shows = strstr(out.chars, line) != NULL;
    text_deinit(&out);
    obs_snapshot_destroy(snapshot);
    return shows;
}

static void duo_until(struct duo *d, const char *line)
{
    int64_t until = loop_now_ns(d->loop) + (int64_t)TESTING_WAIT_S * 1000000000;

    while (!duo_shows(d, line)) {
        assert_true(loop_now_ns(d->loop) < until);
        loop_turn(d->loop, 100000000);
    }
}

static void test_metrics_follow_the_other_site(void **state)
{
    struct duo d;

    (void)state;
    duo_init(&d);
    duo_open(&d);
    duo_until(&d, "strait_site_lanes_up{site=\"west\"} 1\n");
    assert_true(duo_shows(&d, "strait_site_sent_bytes_total{site=\"west\"} "));
    assert_false(duo_shows(&d, "strait_site_sent_bytes_total{site=\"west\"} 0\n"));
    assert_true(duo_shows(&d, "strait_site_behind_clocks{site=\"west\"} 0\n"));
    assert_true(duo_shows(&d, "strait_site_wait_seconds_total{reason=\"barrier\"} 0\n"));
    assert_true(duo_shows(&d, "strait_pieces_made_total 0\n"));
    assert_true(duo_shows(&d, "strait_barriers_passed_total 0\n"));
    assert_true(duo_shows(&d, "strait_soft_threshold_ratio "));
    node_lane_destroy(d.lanes[1]);
    d.lanes[1] = NULL;
    duo_until(&d, "strait_site_lanes_up{site=\"west\"} 0\n");
    duo_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics_follow_the_other_site),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
