/* What a simulated server must not forget: which updates of whom it has counted, and their sum. On
 * the host's disk, so that it survives crashes: a snapshot ("state") and a journal of what came
 * after it. An update is counted when its record is synced, not before.
 *
 * A failed write leaves the journal in doubt; the next commit first writes a fresh snapshot and
 * starts a new journal. A torn record at the end of the journal was never acknowledged and is
 * dropped. */

#ifndef SIM_ECHO_LEDGER_H
#define SIM_ECHO_LEDGER_H

#include "base/limits.h"
#include "net/session/window.h"

struct sim_disk;
struct sim_ledger;

enum { SIM_LEDGER_CLIENTS_MAX = 128 };

struct sim_ledger_entry {
    char client[LIMIT_NAME_BYTES + 1];
    uint64_t incarnation;
    uint64_t sequence;
    uint64_t value;
    int64_t wall_us; /* For people. */
};

/* What is known of one client. */
struct sim_ledger_client {
    char name[LIMIT_NAME_BYTES + 1];
    uint64_t incarnation;     /* The newest; older ones are refused. */
    struct net_window window; /* Of that incarnation. */
    uint64_t count;           /* Of all incarnations. */
    uint64_t sum;
};

/* Read what the disk has. @found is called for each journal record that counts; it may be NULL. */
MUST_USE enum err sim_ledger_open(struct sim_disk *disk,
                                  void (*found)(const struct sim_ledger_entry *entry, void *user),
                                  void *user, struct sim_ledger **ledger_out);
void sim_ledger_close(struct sim_ledger *l);

/* Count an update for good. ERR_EXISTS if it is counted already, ERR_REFUSED if its incarnation is
 * older than the newest; ERR_FULL, ERR_IO, ERR_NOMEM: not counted, try again. */
MUST_USE enum err sim_ledger_commit(struct sim_ledger *l, const struct sim_ledger_entry *entry);

/* What is known of @name, or NULL. */
const struct sim_ledger_client *sim_ledger_find(const struct sim_ledger *l, const char *name);

#endif
