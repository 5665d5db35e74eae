"""The network interface of ranks: never guessed."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

from pyscale_stages.errors import BadInput
from pyscale_stages.measure.nodename import host_name, node_name

INTERFACE_VARIABLE = "GLOO_SOCKET_IFNAME"
"""Names the interface, or several with commas between them; gloo reads it too."""

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/net")


def this_network() -> str:
    """Name what processes share that reach each other by the loopback address."""
    try:
        return f"{_BOOT.read_text().strip()} {_NAMESPACE.readlink()}"
    except OSError:
        # Only Linux has these files.
        return host_name()


@contextmanager
def interface_towards(networks: Sequence[str]) -> Iterator[None]:
    """Let gloo connect by an interface on which the ranks do reach each other."""
    present = [name for _, name in socket.if_nameindex()]
    if named := os.environ.get(INTERFACE_VARIABLE):
        if absent := [name for name in named.split(",") if name not in present]:
            raise BadInput(
                f"{INTERFACE_VARIABLE} names {absent[0]!r}, which is not a network interface of "
                f"{node_name()}: name one of {', '.join(present)}, or none"
            )
        yield
    elif len(set(networks)) == 1:
        loopback = next((name for name in present if name.startswith("lo")), None)
        if loopback is None:
            raise BadInput(
                f"{node_name()} has no loopback interface for its ranks to meet: name another "
                f"interface by {INTERFACE_VARIABLE}"
            )
        os.environ[INTERFACE_VARIABLE] = loopback
        try:
            yield
        finally:
            del os.environ[INTERFACE_VARIABLE]
    else:
        _require_address(present)
        yield


def _require_address(interfaces: Sequence[str]) -> None:
    """See that the host's name leads to an address that other nodes may reach."""
    # Gloo takes the first of its addresses that is this host's own, else the loopback address.
    host = host_name()
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        found = []
    own = next((where[0] for family, *_, where in found if _is_own(family, where)), None)
    if own is not None and not ip_address(str(own).partition("%")[0]).is_loopback:
        return
    leads = f"leads back to itself ({own})" if own else "does not lead to an address of this node"
    raise BadInput(
        f"ranks on other nodes cannot reach {node_name()}, because the host name {host} {leads}: "
        f"name the network interface that joins the nodes by {INTERFACE_VARIABLE} (available: "
        f"{', '.join(interfaces)})"
    )


def _is_own(family: int, address: tuple[object, ...]) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        try:
            # Only an address of this host can be bound.
            trial.bind(address)
        except OSError:
            return False
    return True
