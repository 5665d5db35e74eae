"""What N workers are given: frames, windows, cores and threads; and the order of trials."""

from __future__ import annotations

import random
from collections.abc import Iterator, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from pyscale.errors import UserError
from pyscale.planning.grid import compares_trials
from pyscale.planning.plan import Plan, Trial
from pyscale.planning.suite import MOVIE, PLACE, SLIDES, TRUTH, Suite, SuiteStage
from pyscale.planning.traits import DATA
from pyscale_stages.contract import Sharing
from pyscale_stages.registry import load_stage
from pyscale_stages.wording import plural


@dataclass(frozen=True)
class Sweep:
    """The worker counts of a run and what each is given of the movie.

    In strong scaling N workers share all of it. In weak scaling each has as many frames at every N,
    and the largest N has all, but for a rest. A suite may fix the frames of each: scaling is weak
    then.
    """

    scaling: Literal["strong", "weak"]
    workers: tuple[int, ...]
    """Every N, rising."""
    frames: int
    """Length of the movie."""
    frames_each: int | None = None
    """Frames of each worker, where the suite says so."""
    frameless: str | None = None
    """What the suite measures on, where that is none of which workers share frames: each counts
    as having one then."""

    @classmethod
    def without_frames(cls, data: str, workers: tuple[int, ...]) -> Sweep:
        """Sweep of workers of a suite whose data they do not share by frames."""
        if data == "phantom":
            return cls("strong", workers, max(workers), frameless=data)
        return cls("weak", workers, max(workers), frames_each=1, frameless=data)

    @classmethod
    def of(cls, plan: Plan) -> Sweep:
        """Sweep of a plan; one that was frozen by an earlier release is strong."""
        workers = tuple(sorted({trial.workers for trial in plan.scaling_trials}))
        if DATA[plan.suite.data].given or not workers:
            return cls.without_frames(plan.suite.data if workers else "place", workers or (1,))
        return cls(
            plan.settings.get("scaling", "strong"),
            workers,
            plan.movie_frames,
            plan.suite.frames_per_worker,
        )

    @property
    def is_weak(self) -> bool:
        """Whether the movie grows with N."""
        return self.scaling == "weak" or self.frames_each is not None

    @property
    def frames_per_worker(self) -> int:
        """Frames of each worker where they are as many at every N."""
        return self.frames_each or self.frames // max(self.workers)

    def frames_at(self, workers: int) -> int:
        """Frames that N workers share."""
        if self.frameless is not None:
            return workers
        return workers * self.frames_per_worker if self.is_weak else self.frames

    @property
    def feeding(self) -> int:
        """N whose output later stages read: the baseline, or that which has the most frames."""
        return max(self.workers) if self.is_weak else min(self.workers)

    def __str__(self) -> str:
        """What N workers are given, in words."""
        if self.frameless is not None:
            return DATA[self.frameless].given
        if not self.is_weak:
            return "strong: N workers share the whole movie"
        unused = self.frames - self.frames_at(max(self.workers))
        rest = f"; {plural(unused, 'frame')} at the end left out" if unused else ""
        each = f"{self.frames_per_worker} of the {self.frames} frames"
        return f"weak: each worker has {each} at every N{rest}"

    def refuse_too_short(self, movie: str, unit: str = "frames") -> None:
        """Raise where some worker would have no frame, or whatever is counted of the data."""
        most, each = max(self.workers), self.frames_each or 1
        if most * each > self.frames:
            more = {"frames": "a longer movie", "tiles": "smaller tiles (tile_px)"}
            raise UserError(
                f"{most} workers need {plural(each, unit.removesuffix('s'))} each, but {movie} has "
                f"{self.frames}: use fewer --workers or {more.get(unit, f'more {unit}')}"
            )


def powers_of_two(most: int) -> tuple[int, ...]:
    """1, 2, 4 … up to `most`."""
    return tuple(1 << exponent for exponent in range(most.bit_length()))


def even_windows(n_frames: int, count: int) -> tuple[tuple[int, int], ...]:
    """Split frames 0 … n_frames into contiguous windows whose lengths differ by one at most."""
    edges = [window * n_frames // count for window in range(count + 1)]
    return tuple(pairwise(edges))


@dataclass(frozen=True)
class Scaled:
    """Trials of one entry at any N: what one of them tells of all others."""

    reference: Trial
    step: SuiteStage
    sweep: Sweep
    chunks_per_worker: int

    def trial(self, workers: int, block: int, beside: str | None = None) -> Trial:
        """The trial of N workers in a block, set beside that of another entry in the first."""
        frames = self.reference.windows[-1][1]
        # As many frames for each worker as in the reference, or whatever counts as such.
        if self.sweep.is_weak or self.sweep.frameless is not None:
            frames = frames // self.reference.workers * workers
        return self.reference.model_copy(
            update={
                "id": trial_id(self.reference.entry, workers, block),
                "workers": workers,
                "block": block,
                "threads": self._threads_at(workers),
                "movie_frames": None if self.reference.movie_frames is None else frames,
                "windows": self._windows(frames, workers),
                "beside_trial": beside and trial_id(beside, workers, 1),
            }
        )

    @property
    def _sharing(self) -> Sharing:
        stage = load_stage(self.reference.stage)
        return stage.sharing(stage.params.model_validate(self.reference.params))

    def _windows(self, frames: int, workers: int) -> tuple[tuple[int, int], ...]:
        """Windows of N workers."""
        if self._sharing in {"copies", "ranks"}:
            return ((0, frames),) * workers
        # The workers of a gang run at once, so each has one window.
        chunks = 1 if self.reference.meets else self.chunks_per_worker
        count = 1 if self._sharing == "threads" else min(frames, workers * chunks)
        return even_windows(frames, count)

    def _threads_at(self, workers: int) -> int | None:
        """Cores and threads of each of N workers; None is the run's choice."""
        threads = self.step.cores
        if self._sharing == "threads":
            return workers * (threads or 1)
        if threads is None or not self.step.shares_cores:
            return threads
        return max(1, threads // workers)


def trial_id(entry: str, workers: int, block: int) -> str:
    """Name of a trial."""
    return f"{entry}-n{workers}-b{block}"


FROM_OUTSIDE = frozenset([MOVIE, TRUTH, PLACE, SLIDES])
"""What no entry of a suite makes."""


def block_order(
    suite: Suite,
    measured: Set[str],
    sweep: Sweep,
    block: int,
    seed: int,
    *,
    base_first: bool = False,
) -> list[tuple[str, int]]:
    """Entries and worker counts of one block, in the order in which they run.

    The order is random, so that a drift of the machine hits all alike, and so is that of the
    versions of a stage, which run one after the other. In the first block a trial comes before
    those that need its output, and what measures the machine beside a movie before all.
    """
    configurations = [
        (entry, n)
        for entry in suite.stages
        for n in sweep.workers
        if entry in measured - suite.measured_once
    ]
    if block == 1:
        once = feeding(suite, measured) - measured
        configurations += [(entry, sweep.feeding) for entry in suite.stages if entry in once]
    versions: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for entry, n in configurations:
        together = suite.stages[entry].beside if compares_trials(suite) else None
        versions.setdefault((together or entry, n), []).append((entry, n))
    pairs = list(versions.values())
    chance = random.Random(f"{seed}/{block}")
    chance.shuffle(pairs)
    for pair in pairs:
        # In an only block the others are compared with the first version's output.
        if not base_first:
            chance.shuffle(pair)
    if block > 1:
        return [one for pair in pairs for one in pair]
    ordered = [(entry, 1) for entry in suite.stages if entry in measured & suite.measured_once]
    while pairs:
        waiting = {one for pair in pairs for one in pair}
        ready = next(
            pair
            for pair in pairs
            if not any(
                needed in waiting.difference(pair)
                for entry, n in pair
                for needed in _needed(suite, sweep, entry, n)
            )
        )
        pairs.remove(ready)
        ordered += ready
    return ordered


def _needed(suite: Suite, sweep: Sweep, entry: str, n: int) -> Iterator[tuple[str, int]]:
    """Configurations whose output one needs, as far as they are measured."""
    step = suite.stages[entry]
    for source in step.inputs.values():
        if source not in FROM_OUTSIDE:
            yield source, sweep.feeding
    # In strong scaling every other N is compared with that output, which must be there.
    if not sweep.is_weak and n != sweep.feeding:
        yield entry, sweep.feeding
    if step.beside is not None:
        yield step.beside, n


def feeding(suite: Suite, measured: Set[str]) -> set[str]:
    """Entries whose outputs the measured entries need, directly or not."""
    needed: set[str] = set()
    frontier = set(measured)
    while frontier:
        sources = {s for entry in frontier for s in suite.stages[entry].inputs.values()}
        frontier = sources - FROM_OUTSIDE - needed
        needed |= frontier
    return needed
