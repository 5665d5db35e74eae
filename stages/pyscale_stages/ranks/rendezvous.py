"""The file by which ranks find each other, and learn why another one ended."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pyscale_stages.errors import BadInput, StageError, short
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.ranks.network import this_network
from pyscale_stages.ranks.rank_failure import (
    LastWord,
    LostRank,
    first_end,
    may_meet_at,
    refuse_own_end,
    where_earlier,
)

if TYPE_CHECKING:
    from torch._C._distributed_c10d import FileStore

_LOOK_S = 1.0
"""A wait goes on in pieces of this length: between them Ctrl-C and last words are heard."""
_ANSWER_S = 10.0
"""How long the file may take to be opened; its folder may have been put away."""

_ARRIVALS, _LAST_WORD = "arrivals", "last_word"
_ANOTHER_FILE = "give the ranks of each attempt a file that does not exist yet"


class Meeting:
    """One rank's view of the file, in which ranks are numbered as they arrive."""

    def __init__(self, path: Path, number: int, count: int, timeout_s: float) -> None:
        if not may_meet_at(path):
            raise BadInput(
                f"--meeting {path} is unusable: name a file that does not exist, in a folder "
                "that all ranks may write"
            )
        import torch.distributed as dist

        self.path = path
        self.number = number
        self.count = count
        self.timeout_s = timeout_s
        try:
            # Told no number of ranks it never removes the file: of ranks that leave together it
            # would do so now and then.
            self.store: FileStore = dist.FileStore(str(path))  # type: ignore[attr-defined] # not in __all__
        except RuntimeError as raised:
            raise _unusable(path, raised) from raised
        self.answer_quickly()
        self._is_one_too_many = False
        self._nodes: dict[int, str] = {}

    def await_all(self) -> list[str]:
        """Wait until all ranks have come; the network of each, in the order of their coming."""
        try:
            # The store adds for one rank after the other, so no two get the same number.
            came_before = self.store.add(_ARRIVALS, 1) - 1
            self._is_one_too_many = came_before >= self.count
            if self._is_one_too_many:
                raise BadInput(
                    f"--meeting {self.path} was used before, or more than {self.count} ranks "
                    f"were started: {_ANOTHER_FILE}"
                )
            if (word := self._last_word()) is not None:
                raise LostRank(
                    f"rank {word.number} of {self.count} had ended when rank {self.number} came "
                    f"to {self.path} ({word.sentence}): {_ANOTHER_FILE}"
                )
            refuse_own_end(self.path, self.number)
            if (word := first_end(self.path, self.number, self.count)) is not None:
                raise self._lost(word)
            me = Arrival(self.number, self.count, node_name(), this_network())
            self.store.set(key_of(came_before), json.dumps(me))
            self._wait([key_of(index) for index in range(self.count)])
            came = self._arrived()
        except RuntimeError as raised:
            raise _unusable(self.path, raised) from raised
        if len(came) < self.count:
            missing = sorted(set(range(self.count)) - {rank.number for rank in came})
            raise StageError(
                f"{len(came)} of {self.count} ranks came to {self.path} within "
                f"{self.timeout_s:g} s; missing: {named(missing)}: start all at the same time, "
                "with one --meeting on storage that all of them see"
            )
        self._require_harmony(came)
        return [rank.network for rank in came]

    def _arrived(self) -> list[Arrival]:
        """Find the ranks that have come so far, in the order of their coming, and their nodes."""
        keys = [key_of(index) for index in range(self.count)]
        texts = [self.store.get(key) for key in keys if self.store.check([key])]
        came = [Arrival(*json.loads(text)) for text in texts]
        self._nodes = {rank.number: rank.node for rank in came}
        return came

    def _require_harmony(self, came: Sequence[Arrival]) -> None:
        """See that as many ranks as each expects came, each with a number of its own."""
        for rank in came:
            if rank.ranks != self.count:
                raise BadInput(
                    f"rank {rank.number} on {rank.node} expects {rank.ranks} ranks, but rank "
                    f"{self.number} expects {self.count}: give all of them the same --ranks"
                )
            nodes = [other.node for other in came if other.number == rank.number]
            if len(nodes) > 1:
                raise BadInput(
                    f"{len(nodes)} processes (on {', '.join(nodes)}) came to {self.path} as rank "
                    f"{rank.number}: give each another --rank, or use another --meeting if an "
                    "earlier attempt used this one"
                )

    def await_ready(self) -> None:
        """Wait until all ranks know by which interface they talk."""
        try:
            self.store.set(_ready(self.number), "")
            self._wait(self._all_ready)
            silent = [n for n, key in enumerate(self._all_ready) if not self.store.check([key])]
            if silent:
                raise LostRank(
                    f"{named(silent)} of {self.count} came to {self.path} and then were silent "
                    f"for {self.timeout_s:g} s: see their output, and start all of them again "
                    "with another --meeting"
                )
        except RuntimeError as raised:
            raise _unusable(self.path, raised) from raised

    def answer_quickly(self) -> None:
        """Let no call wait long for a file that is gone."""
        self.store.set_timeout(timedelta(seconds=_ANSWER_S))

    def leave_word(self, error: BaseException) -> None:
        """Tell the others why this rank ends, unless that is another one's doing."""
        if isinstance(error, LostRank):
            return
        # The error itself matters more than that the others hear of it; the first is the cause.
        # The file may be gone where the first rank has ended well, or its folder was put away.
        with suppress(RuntimeError):
            if not self.path.exists():
                return
            # Those who wait for a rank of an earlier attempt must hear of one too many; those who
            # have met must not.
            if not (self._is_one_too_many and self.store.check(self._all_ready)):
                self.store.compare_set(_LAST_WORD, "", json.dumps(LastWord.of(self.number, error)))

    def end(self) -> None:
        """Remove the file where all went well, so that another attempt may meet by it."""
        if self.number == 0:
            self.path.unlink(missing_ok=True)

    def parted(self, raised: RuntimeError) -> LostRank:
        """Return the error of this rank where a call of `torch.distributed` failed."""
        with suppress(RuntimeError):
            if self.path.exists():
                # What started a killed rank hears of its end when this one does.
                self.store.wait([_LAST_WORD], timedelta(seconds=_LOOK_S))
                if (word := self._last_word()) is not None:
                    return self._lost(word)
        if (word := first_end(self.path, self.number, self.count)) is not None:
            return self._lost(word)
        others = named([n for n in range(self.count) if n != self.number], self._nodes)
        if "timed out" in str(raised).lower():
            return LostRank(
                f"rank {self.number} of {self.count} stopped after waiting {self.timeout_s:g} s "
                f"for {others}: check what delayed them, or whether a node was lost"
            )
        return LostRank(
            f"rank {self.number} of {self.count} stopped because the connection with {others} "
            f"broke ({short(raised)}): check which of them was killed, e.g. out of memory"
        )

    @property
    def _all_ready(self) -> list[str]:
        return [_ready(number) for number in range(self.count)]

    def _wait(self, keys: Sequence[str]) -> None:
        """Wait until all keys are set, or the time is over."""
        until = time.monotonic() + self.timeout_s
        while (left := until - time.monotonic()) > 0:
            try:
                self.store.wait(list(keys), timedelta(seconds=min(left, _LOOK_S)))
            except RuntimeError:
                # No more than that not all are set yet: a file that is gone fails the next look.
                word = self._last_word() or first_end(self.path, self.number, self.count)
                # Where all are set by now, this rank finds out itself what another one did.
                if word is not None and not self.store.check(list(keys)):
                    # The timeout of one piece of the wait is not the cause.
                    raise self._lost(word) from None
            else:
                return

    def _last_word(self) -> LastWord | None:
        if not self.store.check([_LAST_WORD]):
            return None
        return LastWord(*json.loads(self.store.get(_LAST_WORD)))

    def _lost(self, word: LastWord) -> LostRank:
        with suppress(RuntimeError):
            # Not all have come yet where none is known.
            if not self._nodes:
                self._arrived()
        node = self._nodes.get(word.number)
        # What started the rank names the node itself, and some ranks do.
        where = f" on {node}" if node and f" on {node}" not in word.sentence else ""
        earlier = where_earlier(self.path, word.number)
        return LostRank(
            f"rank {word.number} of {self.count}{where} ended, so rank {self.number} stopped "
            f"too: {word.sentence}{earlier}"
        )


def _ready(number: int) -> str:
    return f"ready/{number}"


def _unusable(path: Path, raised: RuntimeError) -> StageError:
    return StageError(
        f"ranks cannot meet by {path} ({short(raised)}): use a --meeting on storage that all of "
        "them see and that locks files"
    )


class Arrival(NamedTuple):
    """How one rank introduces itself."""

    number: int
    ranks: int
    """Ranks that it expects, with itself."""
    node: str
    network: str
    """What it shares with the ranks that it reaches by the loopback address."""


def key_of(index: int) -> str:
    """Key of a store under which a rank introduces itself; ranks are counted as they come."""
    return f"arrival/{index}"


def named(numbers: Sequence[int], nodes: Mapping[int, str] | None = None) -> str:
    """Name ranks by their numbers, like "ranks 0, 2 and 3", and by their nodes where given."""
    if nodes:
        places = sorted({nodes[number] for number in numbers})
        return f"{named(numbers)} on {', '.join(places)}"
    if len(numbers) == 1:
        return f"rank {numbers[0]}"
    *first, last = (str(number) for number in numbers)
    return f"ranks {', '.join(first)} and {last}"
