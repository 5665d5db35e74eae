"""Names of devices in tables that were measured elsewhere: `[machine-]kind[-model]`."""

from __future__ import annotations

from typing import NamedTuple

KINDS = ("cpu", "gpu", "cuda", "mps")
BASE_KIND = "cpu"
"""The kind that the others of a machine are compared with."""


class NamedDevice(NamedTuple):
    """What the name of a device tells."""

    machine: str
    """"" where the name has none."""
    kind: str
    model: str
    """"" where the name has none."""


def device_of(name: str) -> NamedDevice | None:
    """Take a name like `desktop-gpu-rtx4070` or `cpu` apart; None where it has not one kind.

    Letters may be capitals. Of `macbook-m1-cpu` the machine is `macbook-m1`.
    """
    words = name.split("-")
    places = [place for place, word in enumerate(words) if word.lower() in KINDS]
    if len(places) != 1:
        return None
    place = places[0]
    return NamedDevice("-".join(words[:place]), words[place].lower(), "-".join(words[place + 1 :]))
