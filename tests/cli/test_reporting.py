"""`pyscale report` says of which runs it reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyscale.benchmark import execute
from pyscale.executors.mock import MockExecutor
from pyscale.reporting import report_runs
from pyscale.store.folder import RunFolder
from pyscale.store.lock import run_lock


def test_the_report_of_a_run_under_way_says_so(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(run, MockExecutor(), lambda _event: None)
    with run_lock(run.path):
        report_runs([str(run.path)], tmp_path / "out")
    said = " ".join(capsys.readouterr().err.split())
    assert f"the run {run.path.name} is not at its end: this is what it has so far" in said
    assert (tmp_path / "out" / "scaling_analysis.md").exists()
