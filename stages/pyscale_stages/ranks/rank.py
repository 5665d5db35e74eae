"""The number of this process among the ranks of a trial, and how it joins the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pyscale_stages.contract import TaskSpec
from pyscale_stages.errors import BadInput, StageError
from pyscale_stages.ranks.group import Group
from pyscale_stages.ranks.network import interface_towards
from pyscale_stages.ranks.rank_failure import note_coming, short
from pyscale_stages.ranks.rendezvous import Meeting

TIMEOUT_S = 600.0
"""How long ranks wait for one that says nothing; one that ends is noticed at once."""


@dataclass(frozen=True)
class Rank:
    """One of the processes that meet."""

    number: int
    """From 0."""
    count: int
    meeting: Path | None
    """File by which they find each other; one process alone needs none."""

    @classmethod
    def of(cls, spec: TaskSpec) -> Rank:
        """Return the rank that a task is."""
        return cls(spec.rank, spec.ranks, spec.meeting)

    @contextmanager
    def joined(self, backend: str = "gloo", timeout_s: float = TIMEOUT_S) -> Iterator[Group]:
        """Meet the other ranks, and part from them at the end of the block.

        Where the block ends with an error, the others hear of it at their next meeting. Inside
        it `torch.distributed` is ready, as in training; one rank alone does not even import it.

        Parameters
        ----------
        backend : str
            What carries tensors, as `torch.distributed` names it. The calls of `Group` use the
            host's memory: beside NCCL name gloo for it, as in "cpu:gloo,cuda:nccl".
        timeout_s : float
            How long to wait for a rank that does not come, or no longer answers.

        Raises
        ------
        BadInput
            If ranks contradict each other, the meeting file cannot be used or was used before,
            or this node has no address that the others reach.
        StageError
            If a rank does not come, ends or stops answering.
        """
        if self.count == 1:
            yield Group(0, 1)
            return
        if self.meeting is None:
            raise BadInput(f"{self.count} ranks need a --meeting to find each other: name its path")
        import torch.distributed as dist

        meeting = Meeting(self.meeting, self.number, self.count, timeout_s)
        try:
            note_coming(self.meeting)
            networks = meeting.await_all()
            with interface_towards(networks):
                meeting.await_ready()
                try:
                    dist.init_process_group(
                        backend,
                        store=meeting.store,
                        rank=self.number,
                        world_size=self.count,
                        timeout=timedelta(seconds=timeout_s),
                    )
                except RuntimeError as raised:
                    raise StageError(
                        f"rank {self.number} of {self.count} cannot connect with the others "
                        f"({short(raised)}): check for a firewall between their nodes, or name "
                        "the network interface that joins them by GLOO_SOCKET_IFNAME"
                    ) from raised
            meeting.answer_quickly()
            group = Group(self.number, self.count, meeting)
            # Some may be connected while others still are being so.
            group.barrier()
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
