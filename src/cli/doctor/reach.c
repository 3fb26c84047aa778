/* Connect to ourselves over TCP with the code that members use: listen, dial, accept. What fails
 * here (a firewall, a wrong address, no loopback) would fail in training. */

#include "cli/doctor/doctor.h"
#include "loop/clock.h"
#include "loop/loop.h"
#include "net/stream/socket.h"

#include <string.h>

enum { REACH_WAIT_MS = 2000 };

struct reach {
    struct net_stream *near; /* The one who dialled. */
    struct net_stream *far;  /* The one who was dialled. */
    bool opened;
    bool failed;
    struct err_text why;
};

static void reach_event(struct net_stream *s, int events, void *user)
{
    struct reach *r = user;

    r->opened = r->opened || (events & NET_STREAM_OPENED) != 0;
    if ((events & NET_STREAM_FAILED) != 0 && s == r->near) {
        r->failed = true;
        r->why = s->why;
    }
}

static void reach_accepted(struct net_stream *s, const struct net_source *source, void *user)
{
    struct reach *r = user;

    (void)source;
    if (r->far != NULL) { /* A stranger was quicker, or came later. */
        s->ops->destroy(s, true);
        return;
    }
    s->event = reach_event;
    s->user = r;
    r->far = s;
}

/* Listen at @address and dial it. The caller ends the streams. */
static enum err reach_connect(struct loop *loop, struct net_address *address, struct reach *r)
{
    struct net_socket_transport transport;
    struct net_accept accept = {.accepted = reach_accepted, .user = r};
    struct net_listener *listener = NULL;
    int64_t until_ns = clock_mono_ns() + REACH_WAIT_MS * INT64_C(1000000);
    const struct net_socket_options options = {.congestion = ""};
    enum err rc;

    net_socket_transport_init(&transport, loop, &options);
    rc = transport.base.ops->listen(&transport.base, address, &accept, &listener, &r->why);
    if (rc != OK) {
        return rc;
    }
    rc = transport.base.ops->dial(&transport.base, &listener->address, &r->near);
    if (rc == OK) {
        r->near->event = reach_event;
        r->near->user = r;
        while (!r->failed && (!r->opened || r->far == NULL) && clock_mono_ns() < until_ns) {
            loop_turn(loop, until_ns - clock_mono_ns());
        }
        rc = r->failed ? ERR_UNREACHABLE : r->opened && r->far != NULL ? OK : ERR_TIMEOUT;
    }
    listener->ops->destroy(listener);
    return rc;
}

static void reach_end(struct net_stream *s)
{
    if (s != NULL) {
        s->ops->destroy(s, true);
    }
}

void doctor_reach(struct doctor *d, const char *check, const char *host)
{
    struct net_address address = {.scheme = NET_SCHEME_TCP, .port = "0"};
    struct reach r = {.near = NULL};
    struct loop *loop = NULL;
    int64_t started_ns = clock_mono_ns();
    enum err rc;

    (void)snprintf(address.host, sizeof(address.host), "%s", host);
    rc = loop_create(&loop);
    if (rc == OK) {
        rc = reach_connect(loop, &address, &r);
        reach_end(r.near);
        reach_end(r.far);
        loop_destroy(loop);
    }
    if (rc == OK) {
        doctor_report(d, DOCTOR_OK, check, NULL, "to %s and back: %.1f ms", host,
                      (double)(clock_mono_ns() - started_ns) / 1e6);
        return;
    }
    doctor_report(d, DOCTOR_FAIL, check,
                  "look at the firewall of this machine, and whether the address is its own",
                  "to %s: %s", host, r.why.text[0] != '\0' ? r.why.text : err_string(rc));
}
