"""Renews config/validation from a run, after a change that was meant to change results.

Run as `.venv/bin/python scripts/renew_validation.py RUN`. RUN is a folder of a complete run of a
suite with expected results, whose trials all left the same bytes. Values and checksums are taken
from it; tolerances, and what they come from, are written by people: look at both in `git diff`.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyscale.errors import UserError
from pyscale.references.files import toml_key
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import build_manifest
from pyscale.store.provenance import read_provenance
from pyscale.validation.expected import (
    Expected,
    ExpectedMeasure,
    ExpectedStage,
    Installation,
    expected_file,
    read_expected,
)
from pyscale.validation.judging import MeasuredTrial, measured_of
from pyscale_stages.atomic import write_atomically

WINDOW_FILE = "window.json"
"""Says what its folder holds, and is no result."""
NO_VERSION = frozenset(["weights_sha256"])
"""What records keep beside versions of libraries."""


def main(folder: Path) -> None:
    """Rewrite the file of expected results that the run's suite names."""
    run = RunFolder(folder)
    name = run.plan.suite.expected
    if name is None:
        raise UserError(f"the suite of {folder} names no expected results")
    path = expected_file(name)
    text = path.read_text(encoding="utf-8")
    head = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    write_atomically(path, as_toml(renewed(read_expected(path), run), "\n".join(head)))


def renewed(expected: Expected, run: RunFolder) -> Expected:
    """Take values and checksums from a run; tolerances and their reasons stay as people wrote them.

    The run is a complete one of the suite in the installation that is the reference from now on.
    """
    plan, measured = run.plan, measured_of(run)
    stages = {}
    for entry, stage in expected.stages.items():
        found = measured.get(entry)
        if found is None or found.why_not:
            why = found.why_not if found else f"it does not measure {entry}"
            raise UserError(f"the run {plan.run_id} cannot give expected results: {why}")
        stages[entry] = _stage(run, entry, stage, found.trials)
    return Expected(
        reference=_installation(run),
        dataset=plan.settings["data"],
        frames=plan.movie_frames,
        seed=plan.settings["seed"],
        inputs={file.name: file.sha256 for file in read_provenance(run.path).input_files},
        stages=stages,
    )


def _installation(run: RunFolder) -> Installation:
    manifest = build_manifest(run)
    stamps = [found["stamp"] for found in manifest["hardware"].values()]
    systems = {
        f"{stamp['operating_system']}, {stamp['libc']}, {stamp['cpu']['architecture']}"
        for stamp in stamps
    }
    packages = {
        f"{package} {version}"
        for versions in manifest["versions"].values()
        for package, version in versions.items()
        if package not in NO_VERSION
    }
    return Installation(
        machine=" and ".join(manifest["hardware"]),
        system=" and ".join(sorted(systems)),
        software=", ".join([f"Python {manifest['python']}", *sorted(packages)]),
    )


def _stage(
    run: RunFolder, entry: str, stage: ExpectedStage, trials: Sequence[MeasuredTrial]
) -> ExpectedStage:
    first = trials[0]
    if any(trial.outputs != first.outputs for trial in trials):
        raise UserError(
            f"the trials of {entry} left different bytes in the run {run.path.name}: measure "
            "with one number of threads on one kind of node"
        )
    params = next(trial.params for trial in run.plan.trials if trial.entry == entry)
    missing = [name for name in stage.measures if name not in first.measures]
    if missing:
        raise UserError(f"the run {run.path.name} did not measure {', '.join(missing)} of {entry}")
    return ExpectedStage(
        params={
            name: value
            for name, value in params.items()
            if value is not None and name not in stage.free
        },
        free=stage.free,
        outputs={name: sha for name, sha in first.outputs.items() if name != WINDOW_FILE},
        measures={
            name: ExpectedMeasure(
                value=first.measures[name], tolerance=old.tolerance, because=old.because
            )
            for name, old in stage.measures.items()
        },
    )


def as_toml(expected: Expected, head: str) -> str:
    """Lay expected results out as people read them, under the comment that the file begins with."""
    told = expected.model_dump(mode="json")
    lines = [head.rstrip("\n"), ""]
    lines += [f"{key} = {_value(told[key])}" for key in ("dataset", "frames", "seed")]
    lines += [
        "",
        "[reference]",
        *_pairs(told["reference"]),
        "",
        "[inputs]",
        *_pairs(told["inputs"]),
    ]
    for entry, stage in told["stages"].items():
        lines += ["", f"[stages.{entry}]", f"free = {_value(stage['free'])}"]
        for table in ("params", "outputs"):
            lines += ["", f"[stages.{entry}.{table}]", *_pairs(stage[table])]
        for name, measure in stage["measures"].items():
            lines += ["", f"[stages.{entry}.measures.{name}]", *_pairs(measure)]
    return "\n".join(lines) + "\n"


def _pairs(table: Mapping[str, Any]) -> list[str]:
    return [f"{toml_key(name)} = {_value(value)}" for name, value in table.items()]


def _value(value: Any) -> str:
    """Write a value as TOML, whose strings are escaped as those of JSON."""
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except UserError as error:
        sys.exit(f"error: {error}")
