"""A run of two versions: what `pyscale compare RUN` and its report say of them."""

import csv
import json
from functools import cache
from pathlib import Path

import pytest

from mockexecutor import MockEnd, MockExecutor
from mockruns import PIPELINE, carried_out, carry_out, plan_of, small_movie
from pyscale.analysis.grid.findings import GridFindings
from pyscale.evaluation.betweenversions import told_of_base
from pyscale.evaluation.runreport import report_run
from pyscale.planning.baseversion import BaseVersion, with_base
from pyscale.planning.grid import unfolded
from pyscale.planning.suite import load_suite
from pyscale.references.fromrun import reference_from
from pyscale.references.workid import work_id_of
from pyscale.store.folder import RunFolder
from refusals import assert_refused

pytestmark = pytest.mark.usefixtures("without_figures")


def parameters(**stages):
    return BaseVersion(kind="parameters", path=Path("base.toml"), params=stages)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Pretend to track with other parameters as the base, in blocks that differ a lot."""
    folder = tmp_path_factory.mktemp("versions")
    movie = small_movie(folder)

    @cache
    def measured(new_over_base=1.0, base_px=30, repeats=6, agrees=True, versions=True, failing=" "):
        def behaviour(trial, task, _spec):
            block = int(trial.rpartition("-b")[2])
            # Neighbouring blocks are 30 % apart, and both versions of a block almost alike.
            wall_s = 10 * 1.3**block * (1 + 0.001 * (block % 3))
            if "_base" not in trial:
                wall_s *= new_over_base * (1 + 0.002 * (block % 2))
            return MockEnd(
                wall_s=wall_s,
                agrees=agrees or task != "beside",
                returncode=int(trial.startswith(failing)),
            )

        base = parameters(track={"max_distance_px": base_px}) if versions else None
        suite = with_base(PIPELINE, base) if base else PIPELINE
        given = {"only": ("track",), "base": base, "repeats": repeats, "retries": 0}
        plan = plan_of(suite, movie, folder / "runs", (1, 2), **given)
        return carried_out(plan, folder, MockExecutor(behaviour))

    return measured


@pytest.fixture
def compare(pyscale, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: pyscale("compare", *words)


def verdicts(answer):
    return [row["verdict"] for row in json.loads(answer.out)["judged"]]


def test_a_slowdown_in_every_block_is_found_although_blocks_differ_by_more(measured, compare):
    run = measured(new_over_base=1.2)
    gated = compare(run, "--fail-on", "regression", "--json")
    assert (gated.code, gated.err) == (1, "regression: track at N = 1 and 2")
    (one, two) = json.loads(gated.out)["judged"]
    assert (one["stage"], one["workers"], two["workers"]) == ("track", 1, 2)
    assert one["verdict"] == two["verdict"] == "worse"
    assert one["ratio"] == pytest.approx(1.2, rel=0.01)
    assert 1.19 < one["ratio_low"] < one["ratio_high"] < 1.21
    assert one["output_agreement"] >= one["output_tolerance"]


def test_no_change_is_the_same(measured, compare):
    answer = compare(measured(), "--fail-on", "regression")
    assert answer.code == 0
    assert answer.text.count("] same") == 2
    assert "max_distance_px of track 30" in answer.text
    assert "base: the parameters of base.toml" in answer.text
    assert "Wilcoxon signed-rank tests of the blocks that timed both" in answer.text


def test_a_faster_version_with_another_result_is_said_to_have_one(measured, compare):
    run = measured(new_over_base=0.5, agrees=False)
    answer = compare(run)
    assert answer.text.count("] better, other result") == 2
    assert "track: the outputs of the two versions differ: agreement" in answer.text
    assert "The ratio compares two different results." in answer.text
    (output,) = json.loads(compare(run, "--json").out)["outputs"]
    assert (output["found"], output["score"] < output["tolerance"]) == ("different", True)


@pytest.mark.slow
def test_equal_parameters_are_an_a_a_run(measured, compare):
    run = measured(base_px=measured().plan.trial("track-n1-b1").params["max_distance_px"])
    assert "this is an A/A run, which shows what chance does here" in compare(run).text
    assert told_of_base(run.plan).endswith("so this is an A/A run")


def test_what_gives_no_verdict_says_why(measured, compare):
    alone = measured(versions=False, repeats=1)
    answer = compare(alone)
    assert_refused(answer)
    # A block that lost a trial of one version is left out.
    lost = compare(measured(new_over_base=1.2, failing="track_base-n2-b3"), "--json")
    assert verdicts(lost) == ["worse", "not enough data"]
    found = json.loads(compare(measured(repeats=1), "--json").out)
    assert [row["reason"] for row in found["judged"]] == ["few-trials"] * 2
    assert found["outputs"][0]["found"] == "same"


@pytest.mark.slow
def test_the_report_has_the_verdicts_and_each_curve_by_itself(measured):
    run = measured(new_over_base=1.2)
    results = report_run(run)
    text = (run.report / "scaling_analysis.md").read_text(encoding="utf-8")
    page = (run.report / "report.html").read_text(encoding="utf-8")
    assert "**New is slower for every configuration (1.20 times as long). Outputs: same" in text
    assert "The base is the parameters of base.toml." in text
    assert "| max_distance_px of track | 30.0 | " in text
    assert '<section id="versions">' in page
    assert 'data-table="versions" data-key="track|cpu|2" data-column="ratio"' in page
    rows = list(csv.DictReader((run.report / "benchmark_versions.csv").open()))
    assert [(row["stage"], row["workers"], row["verdict"]) for row in rows] == [
        ("track", "1", "worse"),
        ("track", "2", "worse"),
    ]
    curves = results.configurations.group_by("stage", maintain_order=True).len()
    assert {stage: count for stage, count in curves.iter_rows() if "track" in stage} == {
        "track": 2,
        "track_base": 2,
    }


@pytest.mark.slow
def test_the_new_version_is_known_as_the_same_work_as_a_plain_run(measured):
    both, alone = measured(), measured(versions=False)
    assert work_id_of(both) == work_id_of(alone)
    assert set(reference_from(both, "mine").table["stage"]) == set(
        reference_from(alone, "mine").table["stage"]
    )


def test_each_point_of_a_grid_is_compared_once_with_its_base(dataset, tmp_path):
    chosen = {"length_px": (2, 4), "device": ("cpu", "cuda"), "threads": (1,)}
    grid = unfolded(load_suite("device"), chosen, device="cpu", cores=lambda *_: 1)
    base = parameters(segment={"diameter_px": 20})
    plan = plan_of(with_base(grid, base), dataset, tmp_path / "runs", base=base, retries=0)
    run = RunFolder.create(tmp_path / "runs", plan)
    # Devices differ in what they compute, and versions do not.
    behaviour = MockExecutor(
        lambda trial, task, _: MockEnd(agrees=task != "beside" or "-b2" in trial)
    )
    assert carry_out(run, behaviour) == ()
    results = report_run(run)
    assert results.versions is not None
    table = results.versions.table
    assert table["stage"].to_list() == [
        f"segment_{length}px_{device}" for length in (2, 4) for device in ("cpu", "cuda")
    ]
    assert table["output_identical"].all()
    (found,) = results.every(GridFindings)
    assert found.points["series"].unique(maintain_order=True).to_list() == [
        "version new",
        "version base",
    ]


def test_advice_is_for_the_new_version_alone(measured, pyscale):
    answer = pyscale("advise", measured(new_over_base=0.8), "--json")
    assert answer.code == 0
    stages = json.loads(answer.out)["stages"]
    advised = {one["stage"] for stage in stages for one in stage["choices"]}
    assert "track" in advised
    assert "track_base" not in advised
