"""`pyscale compare` of runs of every kind whose wall time says nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from commandline import Answer, answer_of
from madeupruns import loader_run, reconstruct_run
from pyscale.results import results_of
from pyscale.severalruns import report_several
from pyscale.store.folder import RunFolder

Maker = Callable[..., Path]
KINDS: dict[str, Maker] = {"loader": loader_run, "reconstruct": reconstruct_run}
OTHER_WORK = {"loader": {"patch_px": 512}, "reconstruct": {"size_px": 256}}
TITLES = {"loader": "Loading patches", "reconstruct": "An iteration of reconstruction"}
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Compare runs, and join the lines of the answer."""

    def compared(*arguments: object) -> Answer:
        answer = answer_of(capsys, "pyscale", "compare", *arguments)
        return answer._replace(err=" ".join(answer.err.split()))

    return compared


@every_kind
def test_a_slower_run_is_a_regression_and_the_other_way_round_is_faster(
    kind: str, compared: Callable[..., Answer], tmp_path: Path
) -> None:
    base, new = (KINDS[kind](tmp_path, name, slower=by) for name, by in (("a1b2", 1), ("c3d4", 2)))
    slower = compared(base, new, "--fail-on", "regression")
    assert slower.code == 1
    assert "at N = 1 and 2" in slower.err
    assert f"{TITLES[kind]}: new is slower for every configuration" in slower.text
    faster = compared(new, base, "--fail-on", "regression")
    assert faster.code == 0
    assert f"{TITLES[kind]}: new is faster for every configuration" in faster.text


@every_kind
def test_a_run_beside_its_copy_is_the_same(
    kind: str, compared: Callable[..., Answer], tmp_path: Path
) -> None:
    runs = [KINDS[kind](tmp_path, name) for name in ("a1b2", "c3d4")]
    found = compared(*runs, "--json")
    values = json.loads(found.out)["values"]
    assert {row["verdict"] for row in values} == {"same"}
    assert all(row["ratio_low"] <= row["ratio"] <= row["ratio_high"] for row in values)


@every_kind
def test_too_few_trials_give_no_verdict_and_no_regression_can_be_found(
    kind: str, compared: Callable[..., Answer], tmp_path: Path
) -> None:
    runs = [KINDS[kind](tmp_path, name, repeats=2) for name in ("a1b2", "c3d4")]
    answer = compared(*runs, "--fail-on", "regression")
    assert answer.code == 2
    assert "no configuration has 6 timed trials on both sides" in answer.err
    assert "not enough data for any configuration, see --repeats." in compared(*runs).text


@every_kind
def test_other_work_is_refused_by_what_differs(
    kind: str, compared: Callable[..., Answer], tmp_path: Path
) -> None:
    other = KINDS[kind](tmp_path, "c3d4", repeats=2, **OTHER_WORK[kind])
    answer = compared(KINDS[kind](tmp_path, "a1b2", repeats=2), other)
    assert answer.code == 2
    assert "which is different work: measure both on the same" in answer.err


@every_kind
def test_what_runs_of_one_version_differ_by_is_no_regression(
    kind: str, compared: Callable[..., Answer], tmp_path: Path
) -> None:
    base, new, alike = (
        KINDS[kind](tmp_path, name, slower=by)
        for name, by in (("a1b2", 1), ("c3d4", 1.2), ("e5f6", 1.3))
    )
    answer = compared(base, new, "--yardstick", alike, "--fail-on", "regression")
    assert answer.code == 0
    assert "Runs of the same version differ by up to 30 %" in answer.text


@every_kind
def test_the_page_of_other_work_says_so_and_not_that_nothing_is_in_common(
    kind: str, tmp_path: Path
) -> None:
    other = KINDS[kind](tmp_path, "c3d4", repeats=1, **OTHER_WORK[kind])
    runs = [RunFolder(KINDS[kind](tmp_path, "a1b2", repeats=1)), RunFolder(other)]
    found = [results_of(run) for run in runs]
    page = report_several(runs, found, [run.path for run in runs], tmp_path).read_text("utf-8")
    assert "not compared, as the work is another" in page
    assert "no stage and N in common" not in page


@every_kind
def test_the_page_of_two_runs_says_how_they_compare(kind: str, tmp_path: Path) -> None:
    runs = [RunFolder(KINDS[kind](tmp_path, name)) for name in ("a1b2", "c3d4")]
    found = [results_of(run) for run in runs]
    reports = [run.path / "report" for run in runs]
    page = report_several(runs, found, reports, tmp_path).read_text("utf-8")
    assert f"{TITLES[kind]}: new is the same within 5 % for every configuration" in page
    assert "no stage and N in common" not in page
