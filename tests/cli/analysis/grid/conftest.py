"""A builder of the tables that a run of a grid leaves, process by process."""

import json
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from pyscale.analysis.grid.findings import grid_findings
from pyscale.analysis.grid.samples import samples
from pyscale.analysis.scaling import configurations
from pyscale.analysis.trials import trial_table
from pyscale.store.tables import call_schema, span_schema, task_schema

START = datetime(2026, 3, 17, 11, 42, 24, tzinfo=UTC)


class GridBuilder:
    """Builds `tasks` and `calls` in the order in which `trial` is called."""

    def __init__(self):
        self._tasks = []
        self._calls = []
        self.entries = []

    def trial(
        self,
        point,
        *workers,
        block=1,
        builds=(None,),
        parts=None,
        later_parts=None,
        length_px=None,
        beside=None,
        same=None,
        **every_task,
    ):
        """Add one trial at a point of the grid of `segment`.

        Each of `workers` gives the seconds of the calls of one process; `builds` what building
        the model before each of them took. `parts` are those of the first call, `later_parts`
        of the others. `beside` are measures against the base's output, and `same` whether the
        output is that of the baseline.
        """
        stage = "_".join(["segment", *(str(value) for value in point.values())])
        if stage not in self.entries:
            self.entries.append(stage)
        trial = f"{stage}-n{len(workers)}-b{block}"
        base = {
            "trial": trial,
            "suite": "device",
            "stage": stage,
            "family": "segment",
            "point": json.dumps(point),
            "workers": len(workers),
            "windows": len(workers),
            "joins": len(workers) > 1,
            "block": block,
            "position": len(self._tasks),
            "verb": "run",
            "status": "done",
            "device": point.get("device", "cpu"),
            "threads": 2,
            "gpu_sharing": "own",
            "attempt": 1,
            "frames": 1,
            "objects": 100,
            "quality": "{}",
            "oversubscribed": False,
            "disturbed": False,
            "cache_asked": "warm",
            "cache_state": "warm",
            "hardware": "xeon",
        } | every_task
        for lane, calls in enumerate(workers):
            task = f"w{lane}"
            wall_s = sum(calls) + 1
            times = {"wall_s": wall_s, "start_utc": START}
            times["end_utc"] = START + timedelta(seconds=wall_s)
            self._tasks.append(base | times | {"task": task, "lane": lane})
            for call, (call_s, build_s) in enumerate(
                zip(calls, [*builds, *[None] * len(calls)], strict=False)
            ):
                own = parts if call == 0 or later_parts is None else later_parts
                one = {
                    **{key: base[key] for key in ("trial", "stage", "family", "workers", "block")},
                    "task": task,
                    "frame": 0,
                    "call": call,
                    "pixels": (length_px or point["length_px"]) ** 2,
                    "objects": 100,
                }
                self._calls.append(one | {"part": None, "wall_s": call_s})
                if build_s is not None:
                    self._calls.append(one | {"part": "build", "wall_s": build_s})
                self._calls += [
                    one | {"part": part, "wall_s": part_s} for part, part_s in (own or {}).items()
                ]
        if len(workers) > 1:
            self._tasks.append(
                base
                | {"task": "merge", "verb": "merge", "wall_s": 0.0}
                | {"start_utc": START, "end_utc": START}
            )
        if beside is not None:
            self._tasks.append(
                base | {"task": "beside", "verb": "check", "beside_details": json.dumps(beside)}
            )
        if same is not None:
            self._tasks.append(base | {"task": "check", "verb": "check", "agreement_same": same})
        return self

    @property
    def tasks(self):
        return pl.DataFrame(self._tasks, schema=task_schema(), orient="row")

    @property
    def calls(self):
        return pl.DataFrame(self._calls, schema=call_schema(), orient="row")

    @property
    def trials(self):
        return trial_table(self.tasks, pl.DataFrame(schema=span_schema()))

    @property
    def times(self):
        return samples(self.calls, self.trials)

    def found(self, versus="device", against="length_px", **trials):
        """What the analysis finds; `trials` are options of the table of trials."""
        table = trial_table(self.tasks, pl.DataFrame(schema=span_schema()), **trials)
        (grid,) = grid_findings(
            *(self.tasks, self.calls, table, configurations(table)),
            versus=versus,
            against=against,
            entries=self.entries,
        )
        return grid


@pytest.fixture
def grid():
    """A grid without any trial."""
    return GridBuilder()
