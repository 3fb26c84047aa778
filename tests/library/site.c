/* A site for tests from outside: lanes on threads of one process, at an address that it prints.
 *
 *     library_site BARRIER DELIVERY LANES WORKERS
 *
 * Ends when its standard input does. */

#include "client/testing.h"

#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct client_testing_site t = {.stored = true};
    char address[NET_ADDRESS_BYTES];
    enum node_delivery delivery;
    char byte;

    if (argc != 5 || sync_policy_find(argv[1]) == NULL ||
        node_delivery_parse(argv[2], &delivery) != OK) {
        fprintf(stderr, "usage: library_site BARRIER DELIVERY LANES WORKERS\n");
        return 2;
    }
    testing_site_start(&t, argv[1], delivery, (uint32_t)atoi(argv[3]), (uint32_t)atoi(argv[4]));
    printf("%s\n", net_address_format(&t.lanes[0].address, address));
    (void)fflush(stdout);
    while (read(0, &byte, 1) > 0) {
    }
    testing_site_stop(&t);
    return 0;
}
