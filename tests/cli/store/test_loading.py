"""What ranks loaded is a table: a row for each, with what it measured or why it could not."""

import polars as pl
import pytest

from mockruns import carried_out, tell, tell_samples
from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.machine.findings import MachineFindings
from pyscale.analysis.ranks.loader import LoaderFindings
from pyscale.evaluation.results import results_of
from pyscale.planning.planentry import Dataset
from pyscale.planning.suite import Suite, SuiteStage
from pyscale.store.rows import loading_schema
from pyscale.store.tables import FILES, build_tables, write_tables
from pyscale_stages.loading import BatchWindow, Diversity, Loading

ALONE, BOTH = "loader-n1-b1", "loader-n2-b1"
PARAMS = {"num_workers": 3, "pool_size": 5, "reader": "openslide", "mpp": 0.5}
FREE = BatchWindow(
    wall_s=4.0,
    waits_s=(0.1, 0.2, 0.3, 0.4, 3.0),
    patches=320,
    prefetched_batches=6,
    read_bytes=1000,
    storage_read_bytes=900,
    cpu_s=7.5,
)
TOGETHER = BatchWindow(
    wall_s=5.0, waits_s=(1.0, 2.0), steps_s=(2.0, 3.0), copies_s=(0.25, 0.75), patches=128
)
LOADED = Loading(
    factory="mine:patches",
    slides=4,
    cores=2,
    batch_size=64,
    patch_bytes=196608,
    free=FREE,
    together=TOGETHER,
    pss_bytes=500,
    rss_bytes=800,
    diversity=Diversity(patches=300, slides_per_batch=3.5, distance_px=None, effective_slides=3.2),
    checksum="5eed",
    checksum_patches=64,
    consumed_per_s=90.0,
)


@pytest.fixture
def run(make_of, tmp_path):
    """A run of one rank and of two, which has ended and in which no rank said what it loaded."""
    slides = tmp_path / "slides"
    slides.mkdir()
    for name in ("a.svs", "b.svs"):
        (slides / name).write_bytes(b"a slide")
    step = SuiteStage(inputs={"slides": "slides"}, params=PARAMS)
    suite = Suite(name="loader", summary="Loads", data="slides", stages={"loader": step})
    plan = make_of(suite, (1, 2), dataset=Dataset(slides, frames=2), repeats=1)
    return carried_out(plan, tmp_path)


def loaded(run, trial, task, loading=LOADED):
    tell_samples(run, trial, task, loading)


def row(run, trial, task):
    return build_tables(run).loading.filter(trial=trial, task=task).row(0, named=True)


def test_each_rank_of_a_trial_that_ran_has_a_row(run):
    tables = build_tables(run)
    table = tables.loading
    assert dict(table.schema) == loading_schema()
    assert table.select("trial", "task", "rank", "workers").rows() == [
        (ALONE, "w0", 0, 1),
        (BOTH, "w0", 0, 2),
        (BOTH, "w1", 1, 2),
    ]
    write_tables(run.path, tables)
    assert pl.read_parquet(run.path / FILES["loading"]).height == 3
    for file in run.trial(run.plan.trial(BOTH)).rglob("*.json"):
        file.unlink()
    assert set(build_tables(run).loading["trial"]) == {ALONE}


def test_the_batches_of_both_windows_are_summed_up_beside_memory_and_diversity(run):
    loaded(run, BOTH, "w0")
    found = row(run, BOTH, "w0")
    free = {"wall_s": 4.0, "batches": 5, "patches": 320, "prefetched": 6, "wait_p50_s": 0.3}
    free |= {"wait_max_s": 3.0, "read_bytes": 1000, "storage_read_bytes": 900, "cpu_s": 7.5}
    together = {"wall_s": 5.0, "batches": 2, "patches": 128, "wait_p50_s": 1.5}
    together |= {"step_p50_s": 2.5, "copy_mean_s": 0.5}
    for window, expected in (("free", free), ("together", together)):
        told = {name: found[f"{window}_{name}"] for name in expected}
        assert told == pytest.approx(expected)
    expected = LOADED.model_dump(include={"slides", "cores", "patch_bytes", "checksum"})
    expected |= {"pss_bytes": 500, "rss_bytes": 800, "consumed_per_s": 90.0, "checksum_patches": 64}
    expected |= {"diversity_patches": 300, "slides_per_batch": 3.5, "effective_slides": 3.2}
    assert {name: found[name] for name in expected} == expected
    assert found["distance_px"] is None
    # What a user wrote, and not where it was found.
    assert found["factory"] == "wsistream"
    # Between the last two of five waits, 0.4 and 3.0: at 0.95 * 4 = 3.8 and at 3.96.
    assert found["free_wait_p95_s"] == pytest.approx(0.4 + 0.8 * 2.6)
    assert found["free_wait_p99_s"] == pytest.approx(0.4 + 0.96 * 2.6)


def test_one_rank_has_no_others_to_wait_for(run):
    copied = FREE.model_copy(update={"copies_s": (0.1, 0.3)})
    changes = {"together": None, "diversity": None, "free": copied}
    loaded(run, ALONE, "w0", LOADED.model_copy(update=changes))
    found = row(run, ALONE, "w0")
    unknown = [name for name in found if name.startswith("together_")]
    assert [found[name] for name in (*unknown, "effective_slides")] == [None] * (len(unknown) + 1)
    assert found["free_copy_mean_s"] == pytest.approx(0.2)


def test_a_rank_that_failed_has_its_error_and_nothing_that_was_measured(run):
    error = {"kind": "BadInput", "message": "the slide a.svs is damaged", "exit_code": 2}
    tell(run, BOTH, "w1", status="failed", error=error)
    loaded(run, BOTH, "w0")
    found = row(run, BOTH, "w1")
    assert (found["status"], found["error"]) == ("failed", "the slide a.svs is damaged")
    assert (found["pool_size"], found["free_wall_s"], found["checksum"]) == (5, None, None)
    assert row(run, BOTH, "w0")["status"] == "done"


@pytest.mark.parametrize("keep", ["0.9", None])
def test_the_asked_diversity_is_read_when_the_run_is_analysed(run, keep, monkeypatch):
    if keep is not None:
        monkeypatch.setenv("PYSCALE_KEEP_DIVERSITY", keep)
    loaded(run, BOTH, "w0")
    loaded(run, BOTH, "w1")
    results = results_of(run)
    assert results.of(LoaderFindings) is not None
    assert results.of(LoaderFindings).keep == (0.9 if keep else 0.5)
    assert results.apart == {"loader"}
    (rate,) = results.of(LoaderFindings).points.filter(workers=2)["patches_per_s"]
    assert rate == pytest.approx(2 * 128 / 5.0)
    assert results.of(MachineFindings) is None
    assert results.every(GridFindings) == []
