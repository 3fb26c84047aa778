/* Calls on one connected descriptor, for the streams that stand on sockets. */

#ifndef NET_STREAM_SOCKET_FD_H
#define NET_STREAM_SOCKET_FD_H

#include "net/stream/socket.h"

/* Set the options; what the kernel refuses is logged and left. */
void net_socket_tune(int fd, bool tcp, const struct net_socket_options *options);

/* As in struct net_stream_ops. */
void net_socket_finish(int fd);
MUST_USE enum err net_socket_write(int fd, const struct iovec *iov, int count, size_t *done_out);
MUST_USE enum err net_socket_read(int fd, const struct iovec *iov, int count, size_t *done_out);

#endif
