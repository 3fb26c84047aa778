#include "node/permit.h"

#include "net/pki/pki.h"
#include "node/control.h"
#include "wire/frame.h"

#include <string.h>

enum {
    WORKER = WIRE_ROLE_WORKER,
    SERVER = WIRE_ROLE_SERVER,
    OPERATOR = WIRE_ROLE_OPERATOR,
};

/* Masks of enum wire_role. */
struct permit_row {
    uint16_t operation;
    const char *name;
    uint32_t own;   /* Senders of the lane's site. */
    uint32_t other; /* Senders of other sites. */
};

/* What changes a site is for its own members; operators of any site may look. */
static const struct permit_row permit_rows[] = {
    {NODE_OP_SITE, "site", WORKER | SERVER | OPERATOR, SERVER | OPERATOR},
    {NODE_OP_LANE, "lane", SERVER, 0},
    {NODE_OP_TABLE, "table", WORKER, 0},
    {NODE_OP_JOIN, "join", WORKER, 0},
    {NODE_OP_LEAVE, "leave", WORKER, 0},
    {NODE_OP_REPORT, "report", WORKER, 0},
    {NODE_OP_STATUS, "status", WORKER | SERVER | OPERATOR, OPERATOR},
    {NODE_OP_SAVE, "save", WORKER | OPERATOR, 0},
    {NODE_OP_HANDSHAKE, "handshake", 0, SERVER},
    {NODE_OP_COPY, "copy", 0, SERVER},
    {NODE_OP_WORD, "word", 0, SERVER},
    {NODE_OP_PLAN, "plan", 0, SERVER},
    {NODE_OP_CHANGES, "changes", 0, SERVER},
    {NODE_OP_DROP, "drop", WORKER | OPERATOR, 0},
};

const char *node_permit_name(enum node_permit permit)
{
    static const char *const names[NODE_PERMITS] = {"ok", "unknown", "role", "site"};

    return names[permit];
}

static const struct permit_row *permit_find(uint16_t operation)
{
    for (size_t i = 0; i < sizeof(permit_rows) / sizeof(permit_rows[0]); i++) {
        if (permit_rows[i].operation == operation) {
            return &permit_rows[i];
        }
    }
    return NULL;
}

enum node_permit node_permit(uint16_t operation, const struct pki_identity *who, const char *site,
                             bool named, struct err_text *text)
{
    const struct permit_row *row = permit_find(operation);
    bool own = strcmp(who->site, site) == 0;
    uint32_t role = who->role;

    if (row == NULL) {
        (void)err_text_set(text, ERR_VERSION, "operation %u is not known here",
                           (unsigned)operation);
        return NODE_PERMIT_UNKNOWN;
    }
    if (((row->own | row->other) & role) == 0) {
        (void)err_text_set(text, ERR_REFUSED,
                           "operation %s is not for the role %s: use another certificate",
                           row->name, wire_role_name(who->role));
        return NODE_PERMIT_ROLE;
    }
    if (!named || ((own ? row->own : row->other) & role) != 0) {
        return NODE_PERMIT_OK;
    }
    (void)err_text_set(
        text, ERR_REFUSED,
        "your certificate is for site %s, and this is site %s: operation %s is for the "
        "role %s of %s",
        who->site, site, row->name, wire_role_name(who->role), own ? "another site" : "this site");
    return NODE_PERMIT_SITE;
}
