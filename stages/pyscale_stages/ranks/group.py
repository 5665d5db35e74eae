"""How ranks join each other, and what they then do together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyscale_stages.errors import BadInput, StageError, as_stage_error, short
from pyscale_stages.ranks.network import INTERFACE_VARIABLE, interface_towards
from pyscale_stages.ranks.rank_failure import LostRank, note_coming
from pyscale_stages.ranks.rendezvous import Meeting

TIMEOUT_S = 600.0
"""How long ranks wait for one that says nothing; one that ends is noticed at once."""


class Group:
    """Ranks that have met, as one of them sees them.

    Alone, every call returns at once. Each call raises `StageError` where another rank has
    ended, was killed, or says nothing for longer than the timeout.
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

    def all_gather(self, value: Any) -> list[Any]:
        """Give every rank the values of all, small and of JSON, in the order of ranks."""
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
        # Tensors that are gathered must be of one length.
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
        """Go on only if every rank can: all call this, each with its error, a sentence, or None."""
        # It returns to a rank that gives an error, which then raises its own; the others it ends.
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
        """Say in a sentence how ranks were parted, where a call of `torch.distributed` fails."""
        try:
            yield
        except RuntimeError as raised:
            if self._meeting is None:
                raise
            raise self._meeting.parted(raised) from raised


@contextmanager
def hearing(group: Group) -> Iterator[None]:
    """Meet the other ranks at the end of the block, and end with any that has failed in it."""
    # Inside the block nothing may meet: a rank that failed would meet the others elsewhere. What
    # failed here is raised as it is.
    try:
        yield
    except Exception as error:
        known = as_stage_error(error)
        group.agree(str(known) if known else f"{type(error).__name__} ({error})")
        raise
    group.agree(None)


@contextmanager
def joined(
    number: int,
    count: int,
    meeting_file: Path | None,
    backend: str = "gloo",
    timeout_s: float = TIMEOUT_S,
) -> Iterator[Group]:
    """Meet the other ranks, and part from them at the end of the block.

    Where the block ends with an error, the others hear of it at their next meeting. Inside it
    `torch.distributed` is ready, as in training; one rank alone does not even import it. Ranks
    that contradict each other, and a file or an address of no use, are a `BadInput`; a rank that
    does not come, ends or stops answering is a `StageError`.

    `backend`: what carries tensors, as `torch.distributed` names it. The calls of `Group` use the
    host's memory: beside NCCL name gloo for it, as in "cpu:gloo,cuda:nccl". `timeout_s`: how long
    to wait for a rank that does not come, or no longer answers.
    """
    if count == 1:
        yield Group(0, 1)
        return
    if meeting_file is None:
        raise BadInput(f"{count} ranks need a --meeting to find each other: name its path")
    import torch.distributed as dist

    meeting = Meeting(meeting_file, number, count, timeout_s)
    try:
        note_coming(meeting_file)
        networks = meeting.await_all()
        with interface_towards(networks):
            meeting.await_ready()
            try:
                dist.init_process_group(
                    backend,
                    store=meeting.store,
                    rank=number,
                    world_size=count,
                    timeout=timedelta(seconds=timeout_s),
                )
            except RuntimeError as raised:
                raise StageError(
                    f"rank {number} of {count} cannot connect with the others ({short(raised)}): "
                    "check for a firewall between their nodes, or name the network interface "
                    f"that joins them by {INTERFACE_VARIABLE}"
                ) from raised
        # A new group of torch has set a timeout of its own.
        meeting.answer_quickly()
        group = Group(number, count, meeting)
        # Some may be connected while others still are being so.
        group.meet()
        yield group
    except BaseException as raised:
        meeting.leave_word(raised)
        raise
    else:
        meeting.end()
    finally:
        # The block may have ended the group, as training scripts do.
        if dist.is_initialized():
            dist.destroy_process_group()
