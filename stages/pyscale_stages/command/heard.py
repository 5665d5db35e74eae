"""What a command said of itself, and what was seen of it from outside."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from pyscale_stages.contract import Phase
from pyscale_stages.measured import Measured, read_measured
from pyscale_stages.wording import first_problem

SAYS_PHASE = "::phase "
"""A line of stderr that begins so names the phase which begins with it."""
SAYS_METRIC = "::metric "
"""A line of stderr that begins so names a number (see `pyscale_stages.measured`)."""
LAST_LINES = 3
"""Lines that are repeated of a command that failed."""
_KNOWN: dict[str, Phase] = {phase: phase for phase in get_args(Phase)}

Lasted = tuple[Phase, float, float]
"""A phase with its start and end."""


@dataclass
class Heard:
    """One call of a command, in seconds on the monotonic clock of this process."""

    begin: float
    end: float = 0.0
    in_container: float | None = None
    """When it started in its container; None where it has none, or that was not seen."""
    read: float | None = None
    """When it first opened what it reads; None where that was not seen."""
    read_nothing: bool = False
    """Whether surely nobody opened what it reads while it ran."""
    said: list[tuple[Phase, float]] = field(default_factory=list)
    """Phases that its stderr named, each with the time at which it began."""
    told: list[Lasted] = field(default_factory=list)
    """Phases that its file of spans holds."""
    measured: list[Measured] = field(default_factory=list)
    """Numbers that it named."""
    unknown: list[str] = field(default_factory=list)
    """Phases that it named and that there are not."""
    unread: list[str] = field(default_factory=list)
    """Sentences on lines that should tell something and do not."""
    last_lines: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_LINES))
    left_running: bool = False
    """Whether processes that it had started outlived it, and were ended."""
    is_late: bool = False
    """Whether it was ended, as it took too long."""
    returncode: int = 0

    def line(self, line: str) -> None:
        """Take in one line of its stderr."""
        if line.startswith(SAYS_PHASE):
            name = line.removeprefix(SAYS_PHASE).strip()
            if (phase := self._known(name)) is not None:
                self.said.append((phase, time.monotonic()))
        elif line.startswith(SAYS_METRIC):
            try:
                self.measured.append(read_measured(line.removeprefix(SAYS_METRIC)))
            except ValueError as error:
                self.unread.append(f"the command said {line!r}, which names no number: {error}")
        elif line.strip():
            self.last_lines.append(line.strip())

    def take_file(self, path: Path) -> None:
        """Take in what it wrote to its file of spans, if anything (`pyscale_stages.telling`)."""
        if not path.is_file():
            return
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                self._take_object(json.loads(line))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                why = first_problem(error, Measured) if isinstance(error, ValidationError) else ""
                self.unread.append(
                    f"the command wrote {line!r} to its file of spans, which tells neither a phase "
                    f"nor a number{why and f': {why}'}"
                )

    def _take_object(self, told: dict[str, object]) -> None:
        if "metric" in told:
            number = {"name": told["metric"]} | {k: v for k, v in told.items() if k != "metric"}
            self.measured.append(Measured.model_validate(number))
            return
        start, end = float(str(told["start_s"])), float(str(told["end_s"]))
        if (phase := self._known(str(told["phase"]))) is not None:
            self.told.append((phase, start, end))

    def _known(self, name: str) -> Phase | None:
        if name not in _KNOWN:
            self.unknown.append(name)
        return _KNOWN.get(name)

    @property
    def phases(self) -> Iterator[Lasted]:
        """What it did all the time; without its word it starts up until it reads, then computes."""
        at = self.begin
        if self.in_container is not None:
            yield "container_start", at, self.in_container
            at = self.in_container
        before: Phase = "import"
        for phase, start, end in self._own_phases(at):
            # Those of several threads may lie above each other.
            start, end = max(start, at), min(end, self.end)  # noqa: PLW2901
            if start > at:
                yield before, at, start
            if end > start:
                yield phase, start, end
                at, before = end, "compute"
        if at < self.end:
            yield "compute", at, self.end

    def _own_phases(self, at: float) -> Sequence[Lasted]:
        if self.told:
            return sorted(self.told, key=lambda one: one[1])
        said = self.said or [("compute", at if self.read is None else self.read)]
        ends = [*(start for _, start in said[1:]), self.end]
        return [(phase, start, end) for (phase, start), end in zip(said, ends, strict=True)]
