/* The carriers that stand on sockets: tcp, tls, unix. Both sides share one loop. */

#include "fixture.h"

#include "loop/clock.h"
#include "net/pki/ca.h"
#include "tls_client.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char carrier_pki_dir[CONF_PATH_BYTES];

static int carrier_remove(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void conf_pki_remove(void)
{
    if (carrier_pki_dir[0] != '\0') {
        (void)nftw(carrier_pki_dir, carrier_remove, 16, FTW_DEPTH | FTW_PHYS);
        carrier_pki_dir[0] = '\0';
    }
}

const char *conf_pki_path(const char *leaf)
{
    static char paths[8][CONF_PATH_BYTES * 2];
    static unsigned int next;
    char *path = paths[next++ % 8];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", conf_pki_dir(), leaf);
    return path;
}

static void carrier_issue(struct pki_ca *ca, const char *identity, const char *dir)
{
    struct pki_order order = {.now_s = clock_wall_us() / 1000000};
    struct err_text text;

    assert_int_equal(pki_identity_parse(identity, &order.identity, NULL), OK);
    if (pki_ca_issue_to(ca, &order, conf_pki_path(dir), false, &text) != OK) {
        fail_msg("%s", text.text);
    }
}

const char *conf_pki_dir(void)
{
    struct pki_ca *ca;

    if (carrier_pki_dir[0] == '\0') {
        (void)snprintf(carrier_pki_dir, sizeof(carrier_pki_dir), "/tmp/strait-conf-XXXXXX");
        assert_non_null(mkdtemp(carrier_pki_dir));
        assert_int_equal(
            pki_ca_create(conf_pki_path("ca"), "test", clock_wall_us() / 1000000, 0, NULL), OK);
        assert_int_equal(pki_ca_open(conf_pki_path("ca"), &ca, NULL), OK);
        carrier_issue(ca, "worker/eu/a", "a");
        carrier_issue(ca, "server/eu/b", "b");
        pki_ca_close(ca);
    }
    return carrier_pki_dir;
}

static void carrier_open(struct conf_world *w)
{
    assert_int_equal(loop_create(&w->loop), OK);
    w->a.loop = w->b.loop = w->loop;
}

static void carrier_open_plain(struct conf_world *w, struct conf_side *side)
{
    net_socket_transport_init(&side->socket, w->loop, NULL);
    side->transport = &side->socket.base;
}

static void tcp_open(struct conf_world *w)
{
    carrier_open(w);
    carrier_open_plain(w, &w->a);
    carrier_open_plain(w, &w->b);
    assert_int_equal(net_address_parse("tcp://127.0.0.1:0", &w->at, NULL), OK);
    assert_int_equal(net_address_parse("tcp://127.0.0.1:1", &w->closed, NULL), OK);
}

static void carrier_close(struct conf_world *w)
{
    loop_destroy(w->loop);
}

static void unix_open(struct conf_world *w)
{
    carrier_open(w);
    carrier_open_plain(w, &w->a);
    carrier_open_plain(w, &w->b);
    (void)snprintf(w->dir, sizeof(w->dir), "/tmp/strait-conf-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    w->at.scheme = w->closed.scheme = NET_SCHEME_UNIX;
    (void)snprintf(w->at.host, sizeof(w->at.host), "%.64s/door", w->dir);
    (void)snprintf(w->closed.host, sizeof(w->closed.host), "%.64s/nobody", w->dir);
}

static void unix_close(struct conf_world *w)
{
    loop_destroy(w->loop);
    (void)nftw(w->dir, carrier_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static void tls_open_side(struct conf_world *w, struct conf_side *side)
{
    struct net_tls_config config = tls_config(side->identity.name, side->identity.name);
    struct err_text text = {0};

    config.roles_dialled |= WIRE_ROLE_WORKER;
    if (net_tls_transport_create(w->loop, &config, &side->tls, &text) != OK) {
        fail_msg("%s", text.text);
    }
    side->transport = net_tls_transport_base(side->tls);
}

static void tls_open(struct conf_world *w)
{
    carrier_open(w);
    tls_open_side(w, &w->a);
    tls_open_side(w, &w->b);
    assert_int_equal(net_address_parse("tls://127.0.0.1:0", &w->at, NULL), OK);
    assert_int_equal(net_address_parse("tls://127.0.0.1:1", &w->closed, NULL), OK);
}

static void tls_close(struct conf_world *w)
{
    net_tls_transport_destroy(w->a.tls);
    net_tls_transport_destroy(w->b.tls);
    loop_destroy(w->loop);
}

const struct conf_carrier conf_tcp = {"tcp", false, false, tcp_open, carrier_close};
const struct conf_carrier conf_tls = {"tls", false, true, tls_open, tls_close};
const struct conf_carrier conf_unix = {"unix", false, false, unix_open, unix_close};
