"""Joint work of ranks that have met."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyscale_stages.errors import as_stage_error
from pyscale_stages.ranks.rank_failure import LostRank
from pyscale_stages.ranks.rendezvous import Meeting


class Group:
    """Ranks that have met, as one of them sees them.

    Alone, every call returns at once. Each call raises `StageError` where another rank has
    ended, was killed, or says nothing for longer than the timeout.

    Parameters
    ----------
    number : int
        Which rank this one is, from 0.
    count : int
        How many there are.
    meeting : Meeting or None
        Where they met; None for one rank alone.
    """

    def __init__(self, number: int, count: int, meeting: Meeting | None = None) -> None:
        self.number = number
        self.count = count
        self._meeting = meeting
        if meeting is not None:
            import torch

            self._one_float = torch.zeros(1)

    def meet(self) -> None:
        """Wait until every rank is here, at the least cost that a step of training has."""
        if self._meeting is None:
            return
        import torch.distributed as dist

        # A sum of one float takes less time than gloo's own barrier.
        with self.heard():
            dist.all_reduce(self._one_float)

    def barrier(self) -> None:
        """Wait until every rank is here."""
        if self._meeting is None:
            return
        import torch.distributed as dist

        with self.heard():
            dist.barrier()

    def all_gather(self, value: Any) -> list[Any]:
        """Give every rank the values of all, in the order of ranks.

        Parameters
        ----------
        value : JSON value
            Something small. A tuple arrives as a list.
        """
        text = json.dumps(value).encode()
        if self._meeting is None:
            return [json.loads(text)]
        import torch
        import torch.distributed as dist

        # torch's own way unpickles what arrives, and so executes whatever somebody else sends.
        size = torch.tensor([len(text)])
        sizes = [torch.empty_like(size) for _ in range(self.count)]
        with self.heard():
            dist.all_gather(sizes, size)
        mine = torch.zeros(max(int(each) for each in sizes), dtype=torch.uint8)
        mine[: len(text)] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        found = [torch.empty_like(mine) for _ in range(self.count)]
        with self.heard():
            dist.all_gather(found, mine)
        return [
            json.loads(bytes(each[: int(length)].tolist()))
            for each, length in zip(found, sizes, strict=True)
        ]

    def agree(self, error: str | None) -> None:
        """Go on only if every rank can: all call this, each with its error or None.

        It returns to a rank that gives an error, which then raises its own.

        Parameters
        ----------
        error : str or None
            Why this rank cannot go on, as a sentence.

        Raises
        ------
        StageError
            In a rank without an error, where another has one: which, and its error.
        """
        try:
            said = self.all_gather(error)
        except LostRank:
            # That others are gone already is no news to a rank that ends itself.
            if error is None:
                raise
            return
        if error is None:
            for number, why in enumerate(said):
                if why is not None:
                    raise LostRank(
                        f"rank {number} of {self.count} failed, so rank {self.number} stopped "
                        f"too: {why}"
                    )

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Say in a sentence how ranks were parted, where a call of `torch.distributed` fails.

        Raises
        ------
        StageError
            Instead of torch's own error, which tells neither which rank is gone nor why.
        """
        try:
            yield
        except RuntimeError as raised:
            if self._meeting is None:
                raise
            raise self._meeting.parted(raised) from raised


@contextmanager
def hearing(group: Group) -> Iterator[None]:
    """Meet the other ranks at the end of the block, and end with any that has failed in it.

    Inside the block nothing may meet: a rank that failed would meet the others elsewhere.

    Raises
    ------
    StageError
        If another rank failed; what failed here is raised as it is.
    """
    try:
        yield
    except Exception as error:
        known = as_stage_error(error)
        group.agree(str(known) if known else f"{type(error).__name__} ({error})")
        raise
    group.agree(None)
