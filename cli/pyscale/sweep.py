"""Frames of each number of workers: all of them, or as many for each worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pyscale.errors import UserError
from pyscale.plan import Plan
from pyscale.traits import DATA


@dataclass(frozen=True)
class Sweep:
    """The worker counts of a run and what each is given of the movie.

    In strong scaling N workers share the whole movie. In weak scaling each worker has as many
    frames at every N: N workers have the first `N * frames_per_worker` of the movie, and the
    largest N has all of it, but for a rest that cannot be shared evenly. A suite may say how many
    frames each worker has: scaling is weak then, whatever is asked for.

    Attributes
    ----------
    scaling : {"strong", "weak"}
    workers : tuple of int
        Every N, rising.
    frames : int
        Length of the movie.
    frames_each : int or None
        Frames of each worker, where the suite says so.
    frameless : str or None
        What the suite measures on, where that is none of which workers share frames: each counts
        as having one then.
    """

    scaling: Literal["strong", "weak"]
    workers: tuple[int, ...]
    frames: int
    frames_each: int | None = None
    frameless: str | None = None

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
        of_them = "last is" if unused == 1 else f"last {unused} are"
        rest = f"; the {of_them} left out" if unused else ""
        return (
            f"weak: each worker has {self.frames_per_worker} of the {self.frames} frames at every "
            f"N{rest}"
        )

    def refuse_too_short(self, movie: str) -> None:
        """Raise where some worker would have no frame.

        Raises
        ------
        UserError
        """
        most = max(self.workers)
        if most * (self.frames_each or 1) <= self.frames:
            return
        if self.frames_each is not None:
            raise UserError(
                f"the suite gives each of up to {most} workers {self.frames_each} of the frames, "
                f"but {movie} has {self.frames}: use fewer --workers or a longer movie"
            )
        if self.is_weak:
            raise UserError(
                f"--scaling weak needs at least one frame for each of up to {most} workers, but "
                f"{movie} has {self.frames}: use fewer --workers or a longer movie"
            )
        raise UserError(
            f"{most} workers cannot share the {self.frames} frames of {movie}: use fewer "
            "--workers or a longer movie"
        )
