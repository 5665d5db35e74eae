"""A builder of the tables that a run of a grid leaves, process by process."""

import json

import polars as pl

from pyscale.analysis.grid.findings import grid_findings
from pyscale.analysis.grid.parts import samples
from pyscale.analysis.scaling import configurations
from pyscale.analysis.trials import trial_table
from pyscale.store.tables import call_schema
from runbuilder import RunBuilder

POINT = {"family": "segment", "threads": 2}
POINT |= {"cache_asked": "warm", "cache_state": "warm"}


class GridBuilder(RunBuilder):
    """Builds `tasks` and `calls` in the order in which `at` is called."""

    def __init__(self):
        super().__init__()
        self._calls = []
        self.points = {}

    def at(
        self,
        point,
        *workers,
        block=1,
        builds=(None,),
        parts=None,
        later_parts=None,
        length_px=None,
        phases=None,
        same=None,
        stage=None,
        **every_task,
    ):
        """Add one trial at a point of the grid of `segment`.

        Each of `workers` gives the seconds of the calls of one process; `builds` what building
        the model before each of them took. `parts` are those of the first call, `later_parts`
        of the others. `phases` are those of a process, and `same` whether the output is that of
        the baseline.
        """
        stage = stage or "_".join(["segment", *(str(value) for value in point.values())])
        self.points[stage] = point
        told = POINT | {"point": json.dumps(point), "device": point.get("device", "cpu")}
        told |= {"agreement": None if same is None else 1.0, "same": same, "block": block}
        spent = [phases or {"unattributed": sum(calls) + 1} for calls in workers]
        self.trial(stage, spent, **told | every_task)
        for lane, calls in enumerate(workers):
            one = {
                **{
                    name: self.last_task[name]
                    for name in ("trial", "stage", "family", "workers", "block", "objects")
                },
                "task": f"w{lane}",
                "frame": lane,
            }
            for call, (call_s, build_s) in enumerate(
                zip(calls, [*builds, *[None] * len(calls)], strict=False)
            ):
                own = parts if call == 0 or later_parts is None else later_parts
                told = {None: call_s} | ({} if build_s is None else {"build": build_s})
                one |= {"call": call, "pixels": (length_px or point["length_px"]) ** 2}
                self._calls += [
                    one | {"part": part, "wall_s": wall_s}
                    for part, wall_s in (told | (own or {})).items()
                ]
        return self

    @property
    def entries(self):
        return list(self.points)

    @property
    def calls(self):
        return pl.DataFrame(self._calls, schema=call_schema(), orient="row")

    @property
    def times(self):
        return samples(self.calls, self.trials)

    def findings(self, table, versus="device", against="length_px", entries=None):
        """What the analysis finds in trials of it."""
        return grid_findings(
            *(self.tasks, self.calls, table, configurations(table)),
            versus=versus,
            against=against,
            entries=entries or self.entries,
        )

    def found(self, *, entries=None, versus="device", against="length_px", **trials):
        """The one grid of it; `trials` are options of the table of trials."""
        table = trial_table(self.tasks, self.spans, **trials)
        (grid,) = self.findings(table, versus, against, entries)
        return grid
