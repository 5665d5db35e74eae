"""Renews config/validation from a run, after a change that was meant to change results.

Run as `.venv/bin/python scripts/renew_validation.py RUN`. RUN is a folder of a complete run of a
suite with expected results, whose trials all left the same bytes. Checksums are taken from it;
bounds, and what they come from, are written by people: look at both in `git diff`.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from pyscale.errors import UserError
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import build_manifest
from pyscale.store.provenance import read_provenance
from pyscale.store.tables import build_tables
from pyscale.validation.judging import Expected, Installation, expected_file, measured_of
from pyscale_stages.atomic import write_atomically

NO_VERSION = frozenset(["weights_sha256"])
"""What records keep beside versions of libraries."""


def main(folder: Path) -> None:
    """Rewrite the file of expected results that the run's suite names."""
    run = RunFolder(folder)
    name = run.plan.suite.expected
    if name is None:
        raise UserError(f"the suite of {folder} names no expected results")
    path = expected_file(name)
    write_atomically(path, renewed(path.read_text(encoding="utf-8"), run))


def renewed(text: str, run: RunFolder) -> str:
    """Put what a run gave in place of what a file of expected results has; the rest stays.

    The run is a complete one of the suite in the installation that is the reference from now on.
    """
    expected = Expected.model_validate(tomllib.loads(text))
    given = {file.name: file.sha256 for file in read_provenance(run.path).input_files}
    changes = [(name, old, given[name]) for name, old in expected.inputs.items()]
    here = _installation(run)
    changes += [(name, old, getattr(here, name)) for name, old in expected.reference]
    for name, old, new in [*changes, *_outputs(expected, run)]:
        key = f'"{name}"' if "." in name else name
        line = f"{key} = {json.dumps(old, ensure_ascii=False)}"
        if line not in text:
            raise UserError(f"the file of expected results has no line {line}")
        text = text.replace(line, f"{key} = {json.dumps(new, ensure_ascii=False)}")
    return text


def _outputs(expected: Expected, run: RunFolder) -> Iterator[tuple[str, str, str]]:
    """Names of files of all stages, with their old and new checksums."""
    measured = measured_of(run)
    for entry, stage in expected.stages.items():
        found = measured.get(entry)
        if found is None or found.why_not:
            why = found.why_not if found else f"it does not measure {entry}"
            raise UserError(f"the run {run.path.name} cannot give expected results: {why}")
        first, *others = (trial.outputs for trial in found.trials)
        if any(outputs != first for outputs in others):
            raise UserError(
                f"the trials of {entry} left different bytes in the run {run.path.name}: measure "
                "with one number of threads on one kind of node"
            )
        yield from ((name, old, first[name]) for name, old in stage.outputs.items())


def _installation(run: RunFolder) -> Installation:
    manifest = build_manifest(run, build_tables(run).sources)
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


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except UserError as error:
        sys.exit(f"error: {error}")
