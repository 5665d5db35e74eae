"""Allocations of a run: the jobs that hold nodes while trials run in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import Timeout
from pydantic import AwareDatetime, Field

from pyscale.filelocks import file_lock, is_held
from pyscale.store.taskfiles import read_record
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.record import Whole

ALLOCATIONS_FILE = "allocation.json"
CANCELLED_FILE = "allocation.cancelled"
FOLLOWED_FILE = "allocation.followed"


class Allocated(Record):
    """One job that was submitted to hold nodes for the trials of a run."""

    job_id: str
    nodes: str = Field(description="Nodes that were asked for, like 2 or 1-4")
    cores: int = Field(description="Cores that were asked for")
    time_limit_min: int
    submit_utc: AwareDatetime
    after: str | None = Field(None, description="Job whose end it waits for")
    entries: tuple[str, ...] = Field(description="Entries of the suite whose trials it runs")
    workers: Whole | None = Field(None, description="N of these, where it is for one alone")

    def runs(self, entry: str, workers: int) -> bool:
        """Whether it is for trials of an entry at an N."""
        return entry in self.entries and self.workers in {None, workers}


class Allocations(Record):
    """Every allocation that was submitted for a run, in order."""

    jobs: tuple[Allocated, ...] = ()

    @property
    def job_ids(self) -> tuple[str, ...]:
        """Slurm's ids of them."""
        return tuple(job.job_id for job in self.jobs)


def read_allocations(run: Path) -> Allocations:
    """Allocations of a run; none where none was ever submitted."""
    return read_record(Allocations, run / ALLOCATIONS_FILE) or Allocations()


def write_allocations(run: Path, allocations: Allocations) -> None:
    """Record the allocations of a run, which only who holds its lock may do."""
    write_atomically(run / ALLOCATIONS_FILE, allocations.model_dump_json(indent=1) + "\n")


def is_cancelled(run: Path) -> bool:
    """Whether `pyscale cancel` has ended the allocations of a run, so that none is to follow."""
    return (run / CANCELLED_FILE).exists()


def set_cancelled(run: Path, *, cancelled: bool) -> None:
    """Say whether allocations of a run are to follow."""
    if cancelled:
        write_atomically(run / CANCELLED_FILE, "")
    else:
        (run / CANCELLED_FILE).unlink(missing_ok=True)


@contextmanager
def following(run: Path) -> Iterator[None]:
    """Let others see that a pyscale follows a run's allocations, which submits the next."""
    lock = file_lock(run / FOLLOWED_FILE)
    # Several may follow, and one of them is enough to be seen.
    with suppress(Timeout):
        lock.acquire(timeout=0)
    try:
        yield
    finally:
        # Does nothing where another has it.
        lock.release()


def is_followed(run: Path) -> bool:
    """Whether a pyscale follows a run's allocations."""
    return is_held(run / FOLLOWED_FILE)
