"""From records to findings: windows dealt to workers, and trials that needed a retry."""

import csv
import json
from functools import cache

import polars as pl
import pytest

from commandline import run_line
from madeuploader import Entry, loading
from mockexecutor import MockEnd, MockExecutor
from mockruns import (
    PIPELINE,
    alone,
    carried_out,
    carry_out,
    failing,
    plan_of,
    site,
    small_movie,
    tell_samples,
)
from pyscale.analysis.grid.findings import GridFindings, grid_findings_of_table
from pyscale.analysis.grid.points import trials_of_sizes, with_stages
from pyscale.analysis.machine.findings import MachineFindings
from pyscale.analysis.ranks.loader import loader_findings
from pyscale.app import app
from pyscale.evaluation.results import analysed, how_held, report_run, results_of, stages_of
from pyscale.measuring.benchmark import benchmark
from pyscale.planning.grid import unfolded
from pyscale.planning.suite import load_suite
from pyscale.references.files import all_references
from pyscale.report.context import ReportContext
from pyscale.store.folder import RunFolder
from pyscale_stages.timing import Timing
from refusals import assert_refused

pytestmark = pytest.mark.usefixtures("without_figures")


@pytest.fixture
def run(make, tmp_path):
    """A new run of segmentation at N = 1 and 2, twice, and of what feeds it."""
    return RunFolder.create(tmp_path / "runs", make(only=("segment",)))


@pytest.fixture
def retried(run, monkeypatch, tmp_path):
    """A run of which one trial succeeded at its second attempt."""
    carry_out(run, failing("segment-n2-b1", "w1", times=1))
    monkeypatch.chdir(tmp_path)
    return run


def reported(run):
    """The row of the retried configuration, as the command line reports it."""
    out = run.path.parent / "out"
    run_line(app, "report", str(run.path), "--out", str(out))
    table = pl.read_csv(out / "benchmark_results_aggregated.csv")
    return table.row(
        by_predicate=(pl.col("stage") == "segment") & (pl.col("workers") == 2), named=True
    )


def retry_flags(row):
    return [code for code in str(row["flags"]).split(";") if code.startswith("retried")]


@pytest.mark.slow
def test_a_trial_that_needed_a_retry_is_not_counted(retried):
    row = reported(retried)
    assert row["repeats"] == 1
    assert retry_flags(row) == ["retried"]


def test_every_node_of_one_kind_is_named_in_the_report(run):
    carry_out(run)
    path = run.task(run.plan.trial("segment-n2-b1"), "w1") / "launch.json"
    text = path.read_text()
    own = results_of(run).context.hardware[0]["nodes"]
    path.write_text(text.replace(f'"node":"{own}"', '"node":"zz-other"'))
    assert results_of(run).context.hardware[0]["nodes"] == f"{own}, zz-other"


def test_what_workers_hold_is_unknown_where_jobs_have_whole_nodes(make):
    assert how_held(make(on_site=site())) == "task"
    assert how_held(make(on_site=site(request={"options": ["--exclusive"]}))) is None
    assert how_held(make()) == "machine"


def test_a_run_on_one_machine_has_laws_and_the_cost_of_the_cores_that_its_workers_had(
    make, tmp_path
):
    prices = {"core_hour": 0.5, "currency": "EUR"}
    plan = make(only=("register_denoise",), repeats=1, cpus_per_worker=2, prices=prices)
    run = carried_out(plan, tmp_path)
    results = results_of(run)
    assert {found.stage for found in results.fits} == set(results.configurations["stage"])
    for row in results.configurations.iter_rows(named=True):
        core_hours = 2 * row["worker_seconds"] / 3600
        assert row["core_hours"] == pytest.approx(core_hours)
        assert row["money"] == pytest.approx(0.5 * core_hours)
        assert row["currency"] == "EUR"


@pytest.fixture
def before(make, tmp_path):
    """Results of a stage at N = 1, 2 and 4, all of them valid."""
    plan = make(workers=(1, 2, 4), only=("register_denoise",))
    run = carried_out(plan, tmp_path)
    return results_of(run)


def test_no_law_is_fitted_to_an_invalid_configuration(before):
    assert before.fits[0].amdahl.counts == (1, 2, 4)
    trials = before.trials.with_columns(agreement_same=pl.col("workers") != 4)
    after = analysed(trials, before.context)
    assert after.configurations["invalid"].to_list() == [False, False, True]
    assert after.fits[0].amdahl.counts == (1, 2)
    assert after.trials.height == before.trials.height
    # What limits is held against the base case of the speedups, even where that is invalid.
    trials = before.trials.with_columns(agreement_same=pl.col("workers") != 1)
    after = analysed(trials, before.context)
    assert after.configurations["invalid"].to_list() == [True, False, False]
    stated = dict(after.configurations.select("workers", "efficiency").iter_rows())
    limits = {one.workers: one.efficiency for one in after.limits}
    assert limits == pytest.approx({2: stated[2], 4: stated[4]})


def segmentation(lengths):
    """Times of a CPU and a GPU at some sizes."""
    rows = [
        ("segment", device, float(length_px), length_px**2 / divisor)
        for length_px in lengths
        for device, divisor in (("cpu", 1e5), ("gpu", 1e6))
    ]
    return pl.DataFrame(rows, schema=["stage", "device", "length_px", "wall_s"], orient="row")


def test_points_of_a_grid_stand_beside_sweeps_over_their_axis_and_none_over_workers(tmp_path):
    table = segmentation((224, 448))
    results = analysed(
        trials_of_sizes(table, "times"),
        ReportContext(title="times"),
        interleaved=False,
        references=all_references(tmp_path).values(),
        stages=dict.fromkeys(with_stages(table, "times")["stage"], "segment"),
        find_grids=lambda _configurations: grid_findings_of_table(table, "times"),
    )
    assert results.configurations.height == 4
    assert [grid.family for grid in results.every(GridFindings)] == ["segment"]
    assert results.of(GridFindings).ratios["ratio"].to_list() == pytest.approx([10, 10])
    assert results.references == []
    beside = [reference.name for reference, _ in results.beside["grid"]]
    assert beside == ["cellpose-devices", "h100-devices"]


def test_the_stage_behind_a_point_is_known_by_its_family_too(make):
    plan = make(only=("segment",))
    entry = plan.suite.stages["segment"].model_copy(update={"family": "cells"})
    suite = plan.suite.model_copy(update={"stages": plan.suite.stages | {"segment": entry}})
    known = stages_of(plan.model_copy(update={"suite": suite}))
    assert (known["segment"], known["cells"]) == ("segment", "segment")


@pytest.fixture
def system(make_of, tmp_path):
    """A run that measured the storage of a folder, and read no movie."""
    suite = alone(load_suite("system"), "storage")
    return carried_out(make_of(suite, dataset=None, cache="asis"), tmp_path / "system")


def test_tests_of_the_machine_are_analysed_and_their_entries_named(system, run):
    timing = Timing(test="metadata_stat", repeat=0, wall_s=0.5, amount=100.0, unit="file")
    versions = {"place_filesystem": "nfs4"}
    tell_samples(system, system.plan.trials[0].id, "w0", timing, versions=versions)
    results = results_of(system)
    assert results.of(MachineFindings) is not None
    row = results.of(MachineFindings).tests.row(0, named=True)
    assert (row["stage"], row["test"], row["rate"]) == ("storage", "metadata_stat", 200)
    assert [*results.of(MachineFindings).places.values()] == [{"place_filesystem": "nfs4"}]
    assert results.apart == {"storage"}
    assert results.configurations["stage"].to_list() == ["storage"]
    assert (system.path / "timings.parquet").exists()
    # Where no movie was read no setting says how.
    settings = results.context.settings
    assert "executor" in settings
    assert not {"scaling", "windows of each worker"} & set(settings)
    assert not any("page cache" in name for name in settings)
    # A run that measured no machine has no findings of one.
    carry_out(run)
    others = results_of(run)
    assert others.of(MachineFindings) is None
    assert others.apart == frozenset()
    assert "scaling" in others.context.settings


@pytest.mark.slow
def test_wall_times_of_ranks_have_no_speedup(make, tmp_path):
    run = RunFolder.create(tmp_path / "runs", make(only=("register_denoise",)))
    _, results = benchmark(run, MockExecutor(lambda *_: MockEnd(wall_s=2.0)), lambda _event: None)
    own = loading([Entry("register_denoise", 500.0, 4.0)])
    apart = analysed(
        results.trials, results.context, kinds=[loader_findings(own, keep=0.5)]
    ).configurations
    assert results.configurations["speedup"].null_count() == 0
    assert apart["speedup"].null_count() == apart["efficiency"].null_count() == 2
    assert apart["wall_s"].to_list() == results.configurations["wall_s"].to_list()


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
