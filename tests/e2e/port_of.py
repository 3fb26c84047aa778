"""Ports for servers whose address must be known before they are there, or again after they died."""

import pathlib
import random
import socket

LOWEST = 20000
KERNELS = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
given = set()


def free_port(row=2):
    """The first of so many free ports in a row. Below those that the kernel gives to clients and to
    servers without a wish: else one of them could get it in between."""
    highest = int(KERNELS.read_text().split()[0])
    assert highest > LOWEST + row, "the kernel gives clients all ports"
    while True:
        port = random.randrange(LOWEST, highest - row)
        wanted = range(port, port + row)
        held = []
        if not given.isdisjoint(wanted):
            continue
        try:
            for p in wanted:
                held.append(socket.create_server(("127.0.0.1", p)))
            given.update(wanted)
            return port
        except OSError:
            continue
        finally:
            for s in held:
                s.close()
