"""How ranks introduce themselves, and whether all of them are one group."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyscale_stages.errors import BadInput
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.ranks.network import this_network

if TYPE_CHECKING:
    from torch._C._distributed_c10d import FileStore


@dataclass(frozen=True)
class Arrival:
    """How one rank introduces itself."""

    number: int
    """From 0."""
    count: int
    """Ranks that it expects, with itself."""
    node: str
    network: str
    """What it shares with the ranks that it reaches by the loopback address."""

    @classmethod
    def of(cls, number: int, count: int) -> Arrival:
        """Return how the rank of this process introduces itself."""
        return cls(number, count, node_name(), this_network())

    def written(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str | bytes) -> Arrival:
        """Return what `written` gave."""
        return cls(**json.loads(text))


def require_harmony(came: Sequence[Arrival], me: Arrival, path: Path) -> None:
    """See that as many ranks as each expects came, each with a number of its own.

    Raises
    ------
    BadInput
        If not: who contradicts whom.
    """
    for rank in came:
        if rank.count != me.count:
            raise BadInput(
                f"rank {rank.number} on {rank.node} expects {rank.count} ranks, and rank "
                f"{me.number} expects {me.count}: give all of them the same --ranks"
            )
        nodes = [other.node for other in came if other.number == rank.number]
        if len(nodes) > 1:
            raise BadInput(
                f"{len(nodes)} processes (on {', '.join(nodes)}) came to {path} as rank "
                f"{rank.number}: give each another --rank, or another --meeting where an "
                "earlier attempt has used this one"
            )


def key_of(index: int) -> str:
    """Key of a store under which a rank introduces itself; ranks are counted as they come."""
    return f"arrival/{index}"


def arrived(store: FileStore, count: int) -> list[Arrival]:
    """Return the ranks that have come so far, in the order of their coming.

    Raises
    ------
    RuntimeError
        If the store cannot be read.
    """
    keys = [key_of(index) for index in range(count)]
    return [Arrival.read(store.get(key)) for key in keys if store.check([key])]


def nodes_of(came: Sequence[Arrival]) -> dict[int, str]:
    """Return the node of each rank by its number."""
    return {rank.number: rank.node for rank in came}


def named(numbers: Sequence[int], nodes: Mapping[int, str] | None = None) -> str:
    """Name ranks by their numbers, like "ranks 0, 2 and 3", and by their nodes where given."""
    if nodes:
        places = sorted({nodes[number] for number in numbers})
        return f"{named(numbers)} on {', '.join(places)}"
    if len(numbers) == 1:
        return f"rank {numbers[0]}"
    *first, last = (str(number) for number in numbers)
    return f"ranks {', '.join(first)} and {last}"
