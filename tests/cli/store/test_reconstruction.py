"""What ranks reconstructed is a table: a row for each iteration, or why a rank had none."""

import json

import polars as pl
import pytest

from mockruns import carried_out, tell, tell_samples
from pyscale.planning.suite import Suite, SuiteStage
from pyscale.store.rows import reconstruction_schema
from pyscale.store.tables import FILES, build_tables, write_tables
from pyscale_stages.reconstruction import Gate, Iteration, Reconstruction, Tiling

ALONE, BOTH = "deblur-n1-b1", "deblur-n2-b1"
FIRST = Iteration(
    wall_s=1.0,
    gradient_s=0.1,
    denoiser_s=0.5,
    communication_s=0.05,
    gather_s=0.15,
    barrier_s=0.19,
)
FOUND = Reconstruction(
    problem="colour_deblur",
    shape=(3, 256, 128),
    operators=8,
    operators_here=4,
    weights="random",
    timing_only=True,
    tiling=Tiling(tile_px=64, overlap_px=8, tiles=8, tiles_here=4, work_multiplier=1.5625),
    backend="gloo",
    device="a processor",
    memory_total_bytes=2000,
    memory_peak_bytes=1000,
    setup_s=3.5,
    iterations=(FIRST, FIRST.model_copy(update={"wall_s": 2.0})),
    objective=12.5,
    objectives_s=(0.3, 0.4),
    psnr_db=30.0,
    psnr_interior_db=31.0,
    psnr_border_db=None,
    gate=Gate(gradient=1e-7, denoiser_border=0.3, interior_px=0, why_not="there is none"),
)


@pytest.fixture
def run(make_of, tmp_path):
    """A run of one rank and of two, which has ended and in which no rank said what it measured."""
    step = SuiteStage(stage="reconstruct", params={"size_px": 128, "tile_px": 64})
    suite = Suite(name="own", summary="Deblurs", data="phantom", stages={"deblur": step})
    return carried_out(make_of(suite, (1, 2), dataset=None, repeats=1), tmp_path)


def measured(run, trial, task, found=FOUND):
    tell_samples(run, trial, task, found)


def rows(run, trial, task):
    return build_tables(run).reconstruction.filter(trial=trial, task=task).to_dicts()


def test_each_iteration_of_a_rank_has_a_row(run):
    measured(run, BOTH, "w1")
    tables = build_tables(run)
    assert dict(tables.reconstruction.schema) == reconstruction_schema()
    first, second = rows(run, BOTH, "w1")
    assert [(row["rank"], row["iteration"]) for row in (first, second)] == [(1, 0), (1, 1)]
    assert {name: first[name] for name in FIRST.model_dump()} == FIRST.model_dump()
    assert (second["wall_s"], second["objective_s"], second["objective"]) == (2.0, 0.4, 12.5)
    assert [row["rank"] for row in rows(run, BOTH, "w0")] == [0]
    # Its ranks load no patches.
    assert tables.loading.is_empty()
    write_tables(run.path, tables)
    assert pl.read_parquet(run.path / FILES["reconstruction"]).height == 4


def test_a_row_says_what_the_rank_was_and_on_what(run):
    measured(run, BOTH, "w1")
    tell(run, BOTH, "w1", stamp={"label": "xeon"})
    found = rows(run, BOTH, "w1")[0]
    task = build_tables(run).tasks.filter(trial=BOTH, task="w1").row(0, named=True)
    for name in ("suite", "stage", "family", "workers", "block", "node", "attempt", "device"):
        assert found[name] == task[name]
    expected = {
        "hardware": "xeon",
        "problem": "colour_deblur",
        "size_px": 128,
        "shape": "3 x 256 x 128",
        "operators_here": 4,
        "tiles_here": 4,
        "work_multiplier": 1.5625,
        "device_name": "a processor",
        "memory_peak_bytes": 1000,
        "timing_only": True,
        "psnr_interior_db": 31.0,
        "psnr_border_db": None,
        "gate_gradient": 1e-7,
        "gate_interior": None,
        "gate_border": 0.3,
        "gate_interior_px": 0,
        "gate_why_not": "there is none",
        "exhausted": False,
    }
    assert {name: found[name] for name in expected} == expected
    assert json.loads(found["settings"])["tile_px"] == 64


def test_how_far_the_image_is_from_that_of_the_fewest_stands_in_all_rows_of_a_trial(run):
    agreement = {"same": True, "identical": False, "score": 0.9, "measure": "m", "tolerance": 0.5}
    details = {"interior_deviation": 1e-6, "border_deviation": 0.1}
    tell(run, BOTH, "check", agreement=agreement | {"details": details})
    for trial, task in ((ALONE, "w0"), (BOTH, "w0"), (BOTH, "w1")):
        measured(run, trial, task)
    table = build_tables(run).reconstruction
    both = table.filter(trial=BOTH)
    assert both.height == 4
    assert set(both["deviation_interior"]) == {1e-6}
    assert set(both["deviation_border"]) == {0.1}
    assert set(table.filter(trial=ALONE)["deviation_interior"]) == {None}


@pytest.mark.parametrize(
    ("kind", "message", "exhausted"),
    [
        ("ResourceExhausted", "the memory of the GPU A100 (40 GiB) ran out: give less", True),
        ("OutOfMemory", "job 7 ran out of memory on n1", True),
        ("ResourceExhausted", "the disk of /runs is full: free space there", False),
        ("LostRank", "rank 0 of 2 ended: its memory ran out", False),
    ],
)
def test_a_rank_that_failed_has_one_row_that_says_whether_its_own_memory_ran_out(
    run, kind, message, exhausted
):
    measured(run, BOTH, "w0")
    # It may have iterated, and failed when it wrote the image.
    measured(run, BOTH, "w1")
    error = {"kind": kind, "message": message, "exit_code": 3}
    tell(run, BOTH, "w1", status="failed", error=error)
    (found,) = rows(run, BOTH, "w1")
    assert (found["status"], found["error"], found["exhausted"]) == ("failed", message, exhausted)
    assert (found["size_px"], found["iteration"], found["wall_s"]) == (128, None, None)
    assert len(rows(run, BOTH, "w0")) == 2
