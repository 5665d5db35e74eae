"""A planned run on pretended workers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pyscale.plan import Plan
from pyscale.planning import Dataset, make_plan
from pyscale.settings import Settings
from pyscale.store.folder import RunFolder, new_run_id
from pyscale.suite import load_suite
from pyscale_stages.moviewriter import write_movie

PlanMaker = Callable[..., Plan]


@pytest.fixture
def movie(tmp_path: Path) -> Path:
    """A real file of eight small frames."""
    path = tmp_path / "movie.ome.tif"
    write_movie(path, np.zeros((8, 4, 4), np.uint16), "TYX")
    return path


@pytest.fixture
def make(tmp_path: Path, movie: Path) -> PlanMaker:
    """Plan the pipeline on the small movie, with any setting replaced."""

    def plan(
        workers: tuple[int, ...] = (1, 2), only: tuple[str, ...] = (), **changes: object
    ) -> Plan:
        settings = Settings(**({"repeats": 2, "runs_folder": tmp_path / "runs"} | changes))
        return make_plan(
            load_suite("pipeline"),
            Dataset(movie, frames=8),
            run_id=new_run_id(),
            settings=settings.model_dump(mode="json"),
            workers=workers,
            only=only,
        )

    return plan


@pytest.fixture
def run(make: PlanMaker, tmp_path: Path) -> RunFolder:
    """A new run of the pipeline at N = 1 and 2, twice."""
    return RunFolder.create(tmp_path / "runs", make())
