/* A server with its threads: started, asked, used by workers, stopped, started again. */

#include "node/server/testing.h"
#include "store/checkpoint.h"

static void test_workers_train_on_all_lanes(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 3, 2);
    struct owner o = owner_open();
    struct node_server_config config = config_of(&o, &site);
    struct crew c;

    (void)state;
    owner_start(&o, &config);
    assert_int_equal(node_server_lanes(o.server), 3);
    crew_open(&c, &o, 2, 10);
    for (int i = 0; i < 5; i++) {
        crew_round(&c);
    }
    crew_expect(&c, 10);
    for (uint32_t i = 0; i < 3; i++) {
        const json_t *status = owner_ask(&o, i);

        assert_int_equal(number_of(status, "lane"), i);
        assert_int_equal(number_of(status, "version"), 5);
        assert_int_equal(json_array_size(json_object_get(status, "members")), 2);
        assert_true(number_of(status, "received_bytes") > ROWS * WIDTH);
        assert_int_equal(json_object_get(status, "settings") != NULL, i == 0);
    }
    crew_leave(&c);
    crew_close(&c);
    owner_stop(&o);
    owner_close(&o);
}

/* What a clean stop keeps, the next server has: also what no regular checkpoint held. */
static void test_a_stopped_server_goes_on_where_it_was(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_BROADCAST, 2, 2);
    char folder[] = "/tmp/strait-server-XXXXXX";
    struct owner o = owner_open();
    struct node_server_config config = config_of(&o, &site);
    const json_t *status;
    struct crew c;

    (void)state;
    assert_non_null(mkdtemp(folder));
    config.store = folder;
    owner_start(&o, &config);
    crew_open(&c, &o, 2, 10);
    for (int i = 0; i < 3; i++) {
        crew_round(&c);
    }
    crew_close(&c);
    owner_stop(&o);
    owner_start(&o, &config);
    status = json_object_get(owner_ask(&o, 1), "checkpoint");
    assert_int_equal(number_of(status, "number"), 1);
    assert_int_equal(number_of(status, "clock"), 3);
    crew_open(&c, &o, 2, 20);
    crew_expect(&c, 6);
    crew_round(&c);
    crew_expect(&c, 8);
    crew_close(&c);
    owner_close(&o);
    remove_folder(folder);
}

/* With pull and checkpoints an update is acknowledged when it is stored: more than a window of them
 * must not wait for a checkpoint that is due only when they have come. */
static void test_a_model_larger_than_the_window_is_trained_with_checkpoints(void **state)
{
    enum { LARGE = 2 * LIMIT_WINDOW_BYTES / 4 / WIDTH };
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 1, 2);
    char folder[] = "/tmp/strait-server-XXXXXX";
    struct owner o = owner_open();
    struct node_server_config config;
    struct crew c;

    (void)state;
    assert_non_null(mkdtemp(folder));
    site.checkpoint_every = 1000;
    config = config_of(&o, &site);
    config.store = folder;
    owner_start(&o, &config);
    crew_open_rows(&c, &o, 2, 10, LARGE);
    crew_round(&c);
    crew_round(&c);
    crew_expect(&c, 4);
    crew_close(&c);
    owner_close(&o);
    remove_folder(folder);
}

/* More of them than fit an answer, all with the longest of names. */
struct crowd {
    struct node_worker *workers[SYNC_MEMBERS_MAX];
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct net_socket_transport transport;
};

static void crowd_open(struct crowd *c, struct owner *o)
{
    assert_int_equal(obs_registry_create(512, &c->registry), OK);
    assert_int_equal(buf_pool_create(UINT64_C(1) << 28, &c->pool), OK);
    net_socket_transport_init(&c->transport, o->loop, NULL);
    for (uint32_t i = 0; i < SYNC_MEMBERS_MAX; i++) {
        struct node_worker_config config = {.loop = o->loop,
                                            .pool = c->pool,
                                            .registry = c->registry,
                                            .transport = &c->transport.base,
                                            .incarnation = i + 1,
                                            .seed = i + 1,
                                            .insecure = true,
                                            .rank = i,
                                            .first = *node_server_told(o->server, 0)};
        char name[LIMIT_NAME_BYTES + 1];

        (void)snprintf(name, sizeof(name), "%064u", i);
        assert_int_equal(pki_identity_make(WIRE_ROLE_WORKER, "home", name, &config.identity, NULL),
                         OK);
        assert_int_equal(node_worker_create(&config, &c->workers[i]), OK);
    }
}

static void crowd_close(struct crowd *c)
{
    for (uint32_t i = 0; i < SYNC_MEMBERS_MAX; i++) {
        node_worker_destroy(c->workers[i]);
    }
    obs_registry_destroy(c->registry);
    buf_pool_destroy(c->pool);
}

static void test_the_status_of_a_crowd_fits_an_answer(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 1, SYNC_MEMBERS_MAX);
    struct owner o = owner_open();
    struct node_server_config config = config_of(&o, &site);
    struct crowd c = {.pool = NULL};
    size_t seen = 0, left_away = 0;

    (void)state;
    owner_start(&o, &config);
    crowd_open(&c, &o);
    while (seen + left_away < SYNC_MEMBERS_MAX) {
        const json_t *status = owner_ask(&o, 0);

        seen = json_array_size(json_object_get(status, "members"));
        left_away = (size_t)json_integer_value(json_object_get(status, "members_left_away"));
    }
    assert_true(left_away > 0);
    assert_true(json_dumpb(o.status, NULL, 0, JSON_COMPACT) < NODE_JSON_BYTES_MAX - 8192);
    crowd_close(&c);
    owner_close(&o);
}

static void test_nothing_is_kept_of_a_site_that_never_began(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 2, 2);
    char folder[] = "/tmp/strait-server-XXXXXX";
    struct owner o = owner_open();
    struct node_server_config config = config_of(&o, &site);
    struct store *store;
    char name[STORE_NAME_BYTES];
    uint64_t number;
    uint32_t skipped;

    (void)state;
    assert_non_null(mkdtemp(folder));
    config.store = folder;
    owner_start(&o, &config);
    owner_stop(&o);
    assert_int_equal(store_dir_create(folder, NULL, &store, NULL), OK);
    assert_int_equal(
        checkpoint_newest(store, "home", 0, name, sizeof(name), &number, &skipped, NULL),
        ERR_NOT_FOUND);
    store_destroy(store);
    owner_close(&o);
    remove_folder(folder);
}

/* Two servers of one site, each with two lanes. */
static void test_two_servers_make_one_site(void **state)
{
    struct node_site site = testing_site_of("ssp", 1, NODE_PULL, 4, 2);
    struct owner one = owner_open();
    struct owner two = {.loop = one.loop};
    struct node_server_config config = config_of(&one, &site);
    const json_t *status;
    struct crew c;

    (void)state;
    config.lanes = 2;
    owner_start(&one, &config);
    status = owner_ask(&one, 0);
    assert_int_equal(number_of(status, "lanes_known"), 2);
    assert_int_equal(json_array_size(json_object_get(status, "lanes_missing")), 2);
    config = config_of(&two, &site);
    config.lanes = 2;
    config.first_number = 2;
    config.first = *node_server_told(one.server, 0);
    assert_int_equal(pki_identity_make(WIRE_ROLE_SERVER, "home", "s1", &config.identity, NULL), OK);
    owner_start(&two, &config);
    crew_open(&c, &one, 2, 10);
    assert_null(json_object_get(owner_ask(&one, 0), "lanes_missing"));
    for (int i = 0; i < 4; i++) {
        crew_round(&c);
    }
    crew_leave(&c);
    assert_int_equal(number_of(owner_ask(&two, 1), "version"), 4);
    crew_close(&c);
    owner_stop(&two);
    owner_stop(&one);
    json_decref(two.status);
    owner_close(&one);
}

static void test_a_port_in_use_fails_with_its_name(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 2, 1);
    struct owner o = owner_open();
    struct owner other = {.loop = o.loop};
    struct node_server_config config = config_of(&o, &site);
    char address[NET_ADDRESS_BYTES];

    (void)state;
    owner_start(&o, &config);
    config.listen = *node_server_bound(o.server, 1);
    config.user = &other;
    assert_int_equal(node_server_create(&config, &other.server, NULL), OK);
    owner_wait(&other, &other.listening, &other.failed);
    assert_true(other.failed);
    assert_non_null(strstr(other.text, net_address_format(&config.listen, address)));
    node_server_destroy(other.server);
    owner_stop(&o);
    owner_close(&o);
}

static void test_lanes_listen_on_ports_that_follow_each_other(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 2, 1);
    struct owner o = owner_open();
    struct node_server_config config = config_of(&o, &site);
    bool done = false;

    (void)state;
    /* The port behind a free one may be taken: then another is tried. */
    for (int tries = 0; tries < 50 && !done; tries++) {
        struct err_text text;

        (void)snprintf(config.listen.port, sizeof(config.listen.port), "%u",
                       20011u + 97u * ((unsigned)tries % 64));
        o.listening = o.failed = false;
        assert_int_equal(node_server_create(&config, &o.server, &text), OK);
        owner_wait(&o, &o.listening, &o.failed);
        done = o.listening;
        if (done) {
            int first = atoi(node_server_bound(o.server, 0)->port);

            assert_int_equal(first, 20011 + 97 * tries);
            assert_int_equal(atoi(node_server_bound(o.server, 1)->port), first + 1);
        }
        node_server_destroy(o.server);
        o.server = NULL;
    }
    assert_true(done);
    owner_close(&o);
}

static void expect_refused(const struct node_server_config *config, const char *part)
{
    struct node_server *server = NULL;
    struct err_text text = {""};

    assert_int_equal(node_server_create(config, &server, &text), ERR_INVALID);
    assert_null(server);
    if (strstr(text.text, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", text.text, part);
    }
}

static void test_settings_that_cannot_be_are_refused(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 4, 1);
    struct owner o = owner_open();
    struct node_server_config good = config_of(&o, &site);
    struct node_server_config config = good;

    (void)state;
    config.lanes = 0;
    expect_refused(&config, "lanes");
    config.lanes = 3;
    config.first_number = 2;
    expect_refused(&config, "the site has 4");
    config = good;
    (void)snprintf(config.listen.port, sizeof(config.listen.port), "65533");
    expect_refused(&config, "4 lanes need as many ports");
    config = good;
    config.listen.scheme = NET_SCHEME_UNIX;
    expect_refused(&config, "tcp://");
    config = good;
    config.listen.scheme = NET_SCHEME_TLS;
    expect_refused(&config, "tls://");
    config = good;
    config.site.shards = 2;
    expect_refused(&config, "2 shards");
    owner_close(&o);
}

static void test_other_sites_that_cannot_be_are_refused(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 2, 1);
    struct node_other_site others[2] = {{.name = "west"}, {.name = "north"}};
    struct owner o = owner_open();
    struct node_server_config config = config_of(&o, &site);
    struct node_between between;

    (void)state;
    node_between_init(&between);
    between.others = others;
    between.others_count = 2;
    config.between = &between;
    others[0].first = others[1].first = config.listen;
    others[1].first.scheme = NET_SCHEME_TLS;
    expect_refused(&config, "north is at tls://127.0.0.1:0");
    others[1] = others[0];
    expect_refused(&config, "west is named twice");
    (void)snprintf(others[1].name, sizeof(others[1].name), "home");
    expect_refused(&config, "home is this one");
    between.others_count = 1;
    between.threshold = -1;
    expect_refused(&config, "threshold");
    owner_close(&o);
}

static void test_a_folder_that_cannot_be_used_fails_with_its_name(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 2, 1);
    struct owner o = owner_open();
    struct node_server_config config = config_of(&o, &site);

    (void)state;
    config.store = "/dev/null/store";
    assert_int_equal(node_server_create(&config, &o.server, NULL), OK);
    owner_wait(&o, &o.listening, &o.failed);
    assert_true(o.failed);
    assert_non_null(strstr(o.text, "/dev/null/store"));
    owner_close(&o);
}

/* At any moment: before it listens, before it is told, with a question under way, while stopping.
 */
static void test_it_can_be_destroyed_at_any_moment(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 3, 1);
    struct owner o = owner_open();
    struct node_server_config config = config_of(&o, &site);
    char folder[] = "/tmp/strait-server-XXXXXX";
    struct crew c;

    (void)state;
    assert_non_null(mkdtemp(folder));
    config.store = folder;
    for (int moment = 0; moment < 4; moment++) {
        o.listening = false;
        assert_int_equal(node_server_create(&config, &o.server, NULL), OK);
        if (moment >= 1) {
            owner_wait(&o, &o.listening, &o.failed);
        }
        if (moment >= 2) {
            node_server_tell(o.server, "example.org");
            assert_string_equal(node_server_told(o.server, 2)->host, "example.org");
        }
        if (moment >= 3) {
            assert_true(node_server_ask(o.server, 1, owner_answered, &o));
        }
        node_server_destroy(o.server);
        o.server = NULL;
    }
    owner_start(&o, &config);
    crew_open(&c, &o, 1, 10);
    crew_round(&c);
    node_server_stop(o.server, "never finished");
    node_server_destroy(o.server);
    o.server = NULL;
    crew_close(&c);
    owner_close(&o);
    remove_folder(folder);
}

static void test_no_memory_is_reported(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 2, 1);
    struct owner o = owner_open();
    struct node_server_config config = config_of(&o, &site);
    struct node_other_site other = {.name = "west", .first = config.listen};
    struct node_between between;
    enum err rc = ERR_NOMEM;

    (void)state;
    node_between_init(&between);
    between.others = &other;
    between.others_count = 1;
    config.between = &between;
    for (uint64_t k = 1; rc != OK; k++) {
        struct err_text text = {""};

        assert_true(k < 200);
        mem_fail_at(k, 1);
        rc = node_server_create(&config, &o.server, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || (rc == ERR_NOMEM && text.text[0] != '\0'));
    }
    owner_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers_train_on_all_lanes),
        cmocka_unit_test(test_a_stopped_server_goes_on_where_it_was),
        cmocka_unit_test(test_a_model_larger_than_the_window_is_trained_with_checkpoints),
        cmocka_unit_test(test_the_status_of_a_crowd_fits_an_answer),
        cmocka_unit_test(test_nothing_is_kept_of_a_site_that_never_began),
        cmocka_unit_test(test_two_servers_make_one_site),
        cmocka_unit_test(test_a_port_in_use_fails_with_its_name),
        cmocka_unit_test(test_lanes_listen_on_ports_that_follow_each_other),
        cmocka_unit_test(test_settings_that_cannot_be_are_refused),
        cmocka_unit_test(test_other_sites_that_cannot_be_are_refused),
        cmocka_unit_test(test_a_folder_that_cannot_be_used_fails_with_its_name),
        cmocka_unit_test(test_it_can_be_destroyed_at_any_moment),
        cmocka_unit_test(test_no_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
