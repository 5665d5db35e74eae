"""A run of two versions, or of two devices: what `pyscale compare RUN` and its report say."""

import csv
import json
from functools import cache

import pytest

from mockexecutor import MockEnd, MockExecutor
from mockruns import PIPELINE, carried_out, carry_out, plan_of, small_movie
from pyscale.evaluation.results import report_run
from pyscale.planning.grid import unfolded
from pyscale.planning.suite import load_suite
from pyscale.store.folder import RunFolder
from refusals import assert_refused

pytestmark = pytest.mark.usefixtures("without_figures")


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Pretend to track in two Pythons, in blocks that differ a lot."""
    folder = tmp_path_factory.mktemp("versions")
    movie = small_movie(folder)
    pythons = [folder / name / "bin" / "python" for name in ("old", "new")]
    for python in pythons:
        python.parent.mkdir(parents=True)
        python.touch()

    @cache
    def measured(new_over_base=1.0, repeats=6, agrees=True, versions=True, failing=" "):
        def behaviour(trial, task, _spec):
            block = int(trial.rpartition("-b")[2])
            # Neighbouring blocks are 30 % apart, and both versions of a block almost alike.
            wall_s = 10 * 1.3**block * (1 + 0.001 * (block % 3))
            if "_new" in trial:
                wall_s *= new_over_base * (1 + 0.002 * (block % 2))
            return MockEnd(
                wall_s=wall_s,
                agrees=agrees or task != "beside",
                returncode=int(trial.startswith(failing)),
            )

        suite = PIPELINE
        if versions:
            suite = unfolded(
                PIPELINE,
                {"python": tuple(map(str, pythons))},
                device="cpu",
                cores=lambda *_: 1,
                left_out=PIPELINE.stages.keys() - {"track"},
            )
        given = {"only": ("track",), "repeats": repeats, "retries": 0}
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
    assert (gated.code, gated.err) == (1, "regression: track_new at N = 1 and 2")
    (one, two) = json.loads(gated.out)["judged"]
    assert (one["stage"], one["workers"], two["workers"]) == ("track_new", 1, 2)
    assert one["verdict"] == two["verdict"] == "worse"
    assert one["ratio"] == pytest.approx(1.2, rel=0.01)
    assert 1.19 < one["ratio_low"] < one["ratio_high"] < 1.21
    assert one["output_agreement"] >= one["output_tolerance"]


def test_no_change_is_the_same(measured, compare):
    answer = compare(measured(), "--fail-on", "regression")
    assert answer.code == 0
    assert answer.text.count("] same") == 2
    assert "/old/bin/python" in answer.text
    assert "Wilcoxon signed-rank tests of the blocks that timed both" in answer.text


def test_a_faster_version_with_another_result_is_said_to_have_one(measured, compare):
    run = measured(new_over_base=0.5, agrees=False)
    answer = compare(run)
    assert answer.text.count("] better, other result") == 2
    assert "track_new: the outputs of the two sides differ: agreement" in answer.text
    assert "The ratio compares two different results." in answer.text
    (output,) = json.loads(compare(run, "--json").out)["outputs"]
    assert (output["found"], output["score"] < output["tolerance"]) == ("different", True)


def test_what_gives_no_verdict_says_why(measured, compare):
    alone = measured(versions=False, repeats=1)
    answer = compare(alone)
    assert_refused(answer)
    # A block that lost a trial of one version is left out.
    lost = compare(measured(new_over_base=1.2, failing="track_old-n2-b3"), "--json")
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
    assert '<section id="versions">' in page
    assert 'data-table="versions" data-key="track_new|cpu|2" data-column="ratio"' in page
    rows = list(csv.DictReader((run.report / "benchmark_versions.csv").open()))
    assert [(row["stage"], row["workers"], row["verdict"]) for row in rows] == [
        ("track_new", "1", "worse"),
        ("track_new", "2", "worse"),
    ]
    curves = results.configurations.group_by("stage", maintain_order=True).len()
    assert {stage: count for stage, count in curves.iter_rows() if "track" in stage} == {
        "track_old": 2,
        "track_new": 2,
    }


def test_devices_of_a_run_are_compared_as_versions_are(dataset, tmp_path, compare):
    chosen = {"length_px": (2, 4), "device": ("cpu", "cuda"), "threads": (1,)}
    grid = unfolded(load_suite("device"), chosen, device="cpu", cores=lambda *_: 1)
    plan = plan_of(grid, dataset, tmp_path / "runs", repeats=6, retries=0)
    run = RunFolder.create(tmp_path / "runs", plan)
    behaviour = MockExecutor(lambda trial, *_: MockEnd(wall_s=2.0 if "cuda" in trial else 6.0))
    assert carry_out(run, behaviour) == ()
    found = json.loads(compare(run, "--json").out)
    assert found["base"] == "device cpu"
    assert [(row["stage"], row["verdict"]) for row in found["judged"]] == [
        (f"segment_{length}px_cuda", "better") for length in (2, 4)
    ]
