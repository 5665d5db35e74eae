"""`pyscale report --format cryosparc-like`: the tests of a run in the shape of another program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyscale.analysis.machine.tests import machine_tests
from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.report.cryosparclike import Measured, benchmark_files
from pyscale.report.write import writing_into
from pyscale.settings import load_settings
from pyscale.store.folder import RunFolder, find_run
from pyscale.store.manifest import build_manifest
from pyscale.store.tables import Tables, build_tables
from pyscale.traits import measures_alone
from pyscale_stages.atomic import write_atomically

FOLDER = "cryosparc-like"


def write_cryosparc_like(names: Sequence[str | None], out: Path | None) -> None:
    """Write tests of runs as JSON and CSV, by default beside the report of each."""
    runs_folder = load_settings().runs_folder
    for run in [find_run(runs_folder, name) for name in names]:
        tables = build_tables(run)
        files = benchmark_files(machine_tests(tables.timings), _measured(run, tables))
        if not files:
            raise UserError(
                f"the run {run.plan.run_id} has no machine test for these files: measure with "
                "`pyscale run system`"
            )
        own = run.report / FOLDER if out is None else out
        folder = own / run.path.name if out is not None and len(names) > 1 else own
        with writing_into(folder):
            for name, data in files.items():
                for ending, text in (("json", data.as_json), ("csv", data.as_csv)):
                    write_atomically(folder / f"{name}.{ending}", text)
                    print(folder / f"{name}.{ending}")  # noqa: T201 - the command's answer
        talk(
            "these are times of pyscale in the format of CryoSPARC's files, not times of CryoSPARC"
        )


def _measured(run: RunFolder, tables: Tables) -> Measured:
    manifest = build_manifest(run, tables.sources)
    labels = dict(tables.tasks.select("node", "hardware").drop_nulls().unique().iter_rows())
    stamps = {label: found["stamp"] for label, found in manifest["hardware"].items()}
    plan = run.plan
    of_machine = [trial for trial in plan.trials if measures_alone(trial.stage)]
    # Of entries of one stage, the first is taken.
    params = {trial.stage: trial.params for trial in reversed(of_machine)}
    begin = tables.tasks["submit_utc"].min()
    return Measured(
        version=manifest["pyscale"]["version"],
        created_at=begin.timestamp() if begin is not None else 0.0,  # type: ignore[union-attr]
        movies=params.get("storage", {}).get("movies", 1),
        params=params,
        folder=None if plan.place is None else str(plan.place),
        stamps={node: stamps[label] for node, label in labels.items() if label in stamps},
    )
