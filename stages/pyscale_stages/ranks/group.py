"""How ranks join each other, and what they then do together."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyscale_stages.errors import StageError, short
from pyscale_stages.ranks.meeting import ANSWER_S, LOOK_S, TIMEOUT_S, Party, met
from pyscale_stages.ranks.network import INTERFACE_VARIABLE, interface_towards
from pyscale_stages.ranks.rank_failure import LostRank


class Group:
    """Ranks that have met, as one of them sees them.

    Alone, every call returns at once. Each call raises `StageError` where another rank has
    ended, was killed, or says nothing for longer than the timeout.
    """

    def __init__(self, number: int, count: int, party: Party | None = None) -> None:
        self.number = number
        self.count = count
        self.transport: dict[str, str] = {}
        """What carries their tensors: named as versions of libraries are; of one rank nothing."""
        self._party = party
        if party is not None:
            import torch

            self._one_float = torch.zeros(1)

    def meet(self) -> None:
        """Wait until every rank is here, at the least cost that a step of training has."""
        if self._party is None:
            return
        import torch.distributed as dist

        # A sum of one float takes less time than gloo's own barrier.
        with self.heard():
            dist.all_reduce(self._one_float)

    def all_gather(self, value: Any) -> list[Any]:
        """Give every rank the values of all, small and of JSON, in the order of ranks."""
        text = json.dumps(value).encode()
        if self._party is None:
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

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Say in a sentence how ranks were parted, where a call of `torch.distributed` fails."""
        try:
            yield
        except RuntimeError as raised:
            if self._party is None:
                raise
            raise _parted(self._party, raised) from raised


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
    `torch.distributed` is ready, as in training; one rank alone does not even import it. What
    `met` raises, it raises too.

    `backend`: what carries tensors, as `torch.distributed` names it. The calls of `Group` use the
    host's memory: beside NCCL name gloo for it, as in "cpu:gloo,cuda:nccl". `timeout_s`: how long
    to wait for a rank that does not come, or no longer answers.
    """
    if count == 1:
        yield Group(0, 1)
        return
    import torch.distributed as dist

    with met(meeting_file, number, count, timeout_s) as party, ExitStack() as listening:
        try:
            group = Group(number, count, party)
            with interface_towards(party.answer["networks"]):
                # torch would wait for one that ends here until the time is over.
                party.await_all()
                listening.enter_context(party.listening())
                _connect(party, backend, timeout_s)
                group.transport = _transport(backend)
            # Some may be connected while others still are being so.
            group.meet()
            yield group
        finally:
            # The block may have ended the group, as training scripts do.
            if dist.is_initialized():
                dist.destroy_process_group()


def _transport(backend: str) -> dict[str, str]:
    found = {
        "ranks_backend": backend,
        "ranks_interface": os.environ.get(INTERFACE_VARIABLE, "by the node's address"),
    }
    if "nccl" in backend:
        import torch

        version = torch.cuda.nccl.version()  # type: ignore[no-untyped-call]
        found["ranks_nccl"] = ".".join(map(str, version))
    return found


def _connect(party: Party, backend: str, timeout_s: float) -> None:
    import torch.distributed as dist

    try:
        dist.init_process_group(
            backend,
            init_method=f"tcp://{party.answer['address']}:{party.answer['port']}",
            rank=party.number,
            world_size=party.count,
            timeout=timedelta(seconds=timeout_s),
        )
    except RuntimeError as raised:
        party.await_loss(LOOK_S)
        raise StageError(
            f"rank {party.number} of {party.count} cannot connect with the others "
            f"({short(raised)}): check for a firewall between their nodes, or name the network "
            f"interface that joins them by {INTERFACE_VARIABLE}"
        ) from raised


def _parted(party: Party, raised: RuntimeError) -> LostRank:
    """Return the error of this rank where a call of `torch.distributed` failed."""
    timed_out = "timed out" in str(raised).lower()
    # Which rank was lost, the first one hears at once; the others hear it from that.
    try:
        party.await_loss(LOOK_S if timed_out else ANSWER_S)
    except LostRank as lost:
        return lost
    number, count = party.number, party.count
    if timed_out:
        return LostRank(
            f"rank {number} of {count} stopped after waiting in vain for the others: check what "
            "delayed them, or whether a node was lost"
        )
    return LostRank(
        f"rank {number} of {count} stopped because the connection with the others broke "
        f"({short(raised)}): check which of them was killed, e.g. out of memory"
    )
