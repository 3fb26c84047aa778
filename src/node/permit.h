/* Who may ask a lane for an operation: one table of roles, for members of the lane's own site and
 * for members of other sites. Pure. docs/PROTOCOL.md prints the same table. */

#ifndef NODE_PERMIT_H
#define NODE_PERMIT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pki_identity;

/* Why an operation is refused. */
enum node_permit {
    NODE_PERMIT_OK,
    NODE_PERMIT_UNKNOWN, /* No row in the table. */
    NODE_PERMIT_ROLE,    /* The sender's role may not send it, whatever its site. */
    NODE_PERMIT_SITE,    /* The role may, but not with that site. */
    NODE_PERMITS,
};

/* May the sender @who ask a lane of @site for @operation? @named: certificates prove the site;
 * without them the sender's site is not looked at. Anything but NODE_PERMIT_OK fills @text. */
enum node_permit node_permit(uint16_t operation, const struct pki_identity *who, const char *site,
                             bool named, struct err_text *text);

/* "unknown", "role" or "site". */
const char *node_permit_name(enum node_permit permit);

#endif
