"""The place of a rank, named in its errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyscale_stages.errors import ResourceExhausted, as_stage_error
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.ranks.group import Group
from pyscale_stages.ranks.rank_failure import LostRank
from pyscale_stages.reconstruct.params import ReconstructParams


@dataclass(frozen=True)
class Place:
    """Which rank this is, and on which node."""

    rank: int
    """From 0."""
    ranks: int
    node: str

    @classmethod
    def of(cls, group: Group) -> Place:
        """Return the place of this process."""
        return cls(group.number, group.count, node_name())

    def __str__(self) -> str:
        """Return it in words."""
        return f"rank {self.rank} of {self.ranks} on {self.node}"


@contextmanager
def told(place: Place, params: ReconstructParams) -> Iterator[None]:
    """Have errors say in which rank and on which node they arose, and what memory would spare."""
    try:
        yield
    except LostRank:
        raise
    except Exception as raised:
        known = as_stage_error(raised)
        if known is None:
            raise
        if isinstance(known, ResourceExhausted) and "memory" in str(known):
            raise ResourceExhausted(
                f"{what_ran_out(known)} in {place}: {_sparing(place, params)}"
            ) from raised
        raise type(known)(f"{place}: {known}") from raised


def what_ran_out(error: ResourceExhausted) -> str:
    """What an error says, without the advice that stages of frames are given."""
    return str(error).rpartition(": ")[0] or str(error)


def _sparing(place: Place, params: ReconstructParams) -> str:
    """What takes less memory, with the values that were too large."""
    if place.ranks == 1 and params.whole_at_one:
        return (
            f"lower size_px ({params.size_px}), start several ranks, which cut the image into "
            "tiles, or give the rank more memory"
        )
    lower = [f"tile_px ({params.tile_px})", f"size_px ({params.size_px})"]
    if params.tiles_at_once > 1:
        lower.insert(0, f"tiles_at_once ({params.tiles_at_once})")
    return f"lower {', '.join(lower[:-1])} or {lower[-1]}, or give each rank more memory"
