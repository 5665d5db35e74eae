"""A planned run on pretended workers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyscale import trialrunner
from pyscale.grid import unfolded
from pyscale.plan import Plan
from pyscale.planning import Dataset, make_plan
from pyscale.settings import Settings
from pyscale.sites import Site
from pyscale.store.folder import RunFolder, new_run_id
from pyscale.store.records import Bystanders
from pyscale.suite import Suite, load_suite
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.moviewriter import write_movie
from runbuilder import RunBuilder

PlanMaker = Callable[..., Plan]


@pytest.fixture(autouse=True)
def _nobody_else_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare pretended trials the look at every process of the machine, before and after each."""
    idle = Bystanders(node=node_name(), cores=1, pyscale_tasks=0, runnable=0.0)
    monkeypatch.setattr(trialrunner, "look_around", lambda: idle)


@pytest.fixture(scope="session")
def new_run() -> Callable[[], RunBuilder]:
    """Start an empty run; a factory, so that property tests can build many."""
    return RunBuilder


@pytest.fixture
def movie(tmp_path: Path) -> Path:
    """A real file of eight small frames."""
    path = tmp_path / "movie.ome.tif"
    write_movie(path, np.zeros((8, 4, 4), np.uint16), "TYX")
    return path


@pytest.fixture
def dataset(movie: Path) -> Dataset:
    """The small movie."""
    return Dataset(movie, frames=8)


@pytest.fixture
def make_of(tmp_path: Path, dataset: Dataset) -> PlanMaker:
    """Plan a suite on the small movie, with any setting replaced."""

    def plan(
        suite: Suite,
        workers: tuple[int, ...] = (1,),
        only: tuple[str, ...] = (),
        dataset: Dataset | None = dataset,
        on_site: Site | None = None,
        **changes: Any,
    ) -> Plan:
        given: dict[str, Any] = {"repeats": 2, "runs_folder": tmp_path / "runs"} | changes
        settings = Settings(**given)
        return make_plan(
            suite,
            dataset,
            run_id=new_run_id(),
            settings=settings.model_dump(mode="json"),
            workers=workers,
            only=only,
            site=on_site,
        )

    return plan


@pytest.fixture
def make(make_of: PlanMaker) -> PlanMaker:
    """Plan the pipeline on the small movie, with any setting replaced."""

    def plan(workers: tuple[int, ...] = (1, 2), **changes: object) -> Plan:
        return make_of(load_suite("pipeline"), workers, **changes)

    return plan


@pytest.fixture
def sweep(make_of: PlanMaker) -> PlanMaker:
    """Plan the device sweep with two sizes on the CPU, or with other values of its axes."""

    def plan(grid: dict[str, Any] | None = None, **changes: Any) -> Plan:
        axes = {"length_px": (2, "full"), "device": ("cpu",), "threads": (1,)} | (grid or {})
        chosen = {axis: tuple(values) for axis, values in axes.items()}
        suite = unfolded(load_suite("device"), chosen, device="cpu", cores=lambda *_: 1)
        return make_of(suite, grid=chosen, **changes)

    return plan


@pytest.fixture
def run(make: PlanMaker, tmp_path: Path) -> RunFolder:
    """A new run of the pipeline at N = 1 and 2, twice."""
    return RunFolder.create(tmp_path / "runs", make())
