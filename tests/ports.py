"""Ports for the daemons that tests start."""

import random
import socket
from pathlib import Path

EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""Ports that the kernel gives to whoever names none, like every client for its connection."""
LOWEST = 10_000


def free_ports(count, host=""):
    """Ports that nobody listens on, and that no client gets before their daemons listen."""
    first, last = map(int, EPHEMERAL.read_text().split())
    candidates = [*range(LOWEST, first), *range(last + 1, 1 << 16)]
    found = []
    for port in random.sample(candidates, len(candidates)):
        if len(found) < count and _is_free(host, port):
            found.append(port)
    return found


def _is_free(host, port):
    with socket.socket() as each:
        try:
            each.bind((host, port))
        except OSError:
            return False
    return True
