"""`pyscale.throughput` beside wsistream's own call, of one script."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import polars as pl
import pytest

import pyscale
from madeuploader import ENTRIES, loading
from pyscale.analysis.ranks.loader import loader_points, loader_trials
from pyscale.evaluation.throughput import factory_named, patch_table
from pyscale_stages.slides.synthetic import SlidesParams, slide_name, write_slides

SCRIPT = """
import json
import sys
from dataclasses import asdict

import pyscale
from wsistream.backends import OpenSlideBackend
from wsistream.benchmark import benchmark_throughput
from wsistream.sampling import RandomSampler
from wsistream.tissue import OtsuTissueDetector
from wsistream.torch import WsiStreamDataset


def make_dataset(slide_paths, pool_size, patches_per_slide, patches_per_visit, seed):
    return WsiStreamDataset(
        slide_paths=slide_paths,
        backend=OpenSlideBackend(),
        tissue_detector=OtsuTissueDetector(),
        sampler=RandomSampler(patch_size=64),
        pool_size=pool_size,
        patches_per_slide=patches_per_slide,
        patches_per_visit=patches_per_visit,
        cycle=True,
        seed=seed,
    )


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    theirs = benchmark_throughput(make_dataset=make_dataset, verbose=False, **asked)
    ours = pyscale.throughput(make_dataset=make_dataset, verbose=False, **asked)
    ours.write_json("ours.json")
    with open("theirs.json", "w") as file:
        json.dump([asdict(one) for one in theirs], file)
"""
SMALL = {"batch_size": 4, "warmup_batches": 1, "measure_batches": 4}


@pytest.fixture
def slides(home):
    """A folder for each slide."""
    whole = write_slides(home / "made", SlidesParams(slides=4, height_px=512, width_px=512))
    for number in range(4):
        (home / "scans" / str(number)).mkdir(parents=True)
        (whole / slide_name(number)).rename(home / "scans" / str(number) / "scan.svs")
    return home / "scans"


@pytest.mark.slow
def test_it_answers_as_wsistream_does_to_the_same_call(home, slides):
    asked = SMALL | {
        "slide_paths": [str(slides / "3" / "scan.svs"), str(slides / "0"), str(slides / "1")],
        "world_size": 2,
        "num_workers": [1],
        "pool_size": 1,
        # Torch's own.
        "prefetch_factor": None,
        "multiprocessing_context": None,
        "persistent_workers": True,
    }
    (home / "measure.py").write_text(SCRIPT)
    subprocess.run([sys.executable, "measure.py", json.dumps(asked)], cwd=home, check=True)
    theirs, ours = json.loads((home / "theirs.json").read_text()), pl.read_json("ours.json")
    times = theirs[0].keys() - set(ours.columns)
    assert times == {"per_rank_batch_times_ms"}, "in place of which its quantiles are told"
    assert ours["error"].to_list() == [None]
    told = ["num_workers", "world_size", "pool_size", "patches_per_slide", "patches_per_visit"]
    for row, their in zip(ours.iter_rows(named=True), theirs, strict=True):
        for name in (*told, "batch_size", "total_patches"):
            assert row[name] == their[name], name
        rates = row["per_rank_patches_per_sec"]
        assert len(rates) == len(their["per_rank_patches_per_sec"]) == 2
        assert row["aggregate_throughput"] == pytest.approx(sum(rates))
        assert row["effective_sync_throughput"] == pytest.approx(2 * min(rates))
        assert row["in_step_throughput"] > 0
        assert row["peak_rss_mb"] == max(row["per_rank_peak_rss_mb"])
    assert pyscale.load().folder.is_relative_to(home)


def test_configurations_stand_in_the_order_of_the_sweep():
    points = [{"num_workers": n, "pool_size": pool} for n in (2, 1) for pool in (8, 4)]
    entries = [replace(ENTRIES[0], stage=f"e{n}", **point) for n, point in enumerate(points)]
    rows = loading([*entries, replace(ENTRIES[1], stage="bad", error="no")], ranks=(2,))
    found = patch_table(loader_points(loader_trials(rows), keep=0.5), rows)
    assert found.select("num_workers", "pool_size").rows() == [
        (1, 4),
        (1, 8),
        (2, 2),
        (2, 4),
        (2, 8),
    ]
    assert found["error"].to_list() == [None, None, "no", None, None]
    assert found["aggregate_throughput"].is_null().to_list() == [False, False, True, False, False]
    assert found["per_rank_batch_time_p95_ms"].list.len().to_list() == [2] * 5


@pytest.mark.parametrize("make", [lambda *_: None, json.JSONDecoder.decode, object()])
def test_a_function_that_ranks_cannot_import_is_refused(home, slides, make):
    with pytest.raises(pyscale.UserError, match="which ranks cannot import"):
        pyscale.throughput(slides, make_dataset=make)
    with pytest.raises(pyscale.UserError, match="does not exist"):
        pyscale.throughput([home / "absent"])
    assert not (home / "runs").exists()


def test_what_a_rank_imports_measures_nothing_itself(slides):
    before = dict(os.environ)
    with factory_named(write_slides) as name:
        assert name == "pyscale_stages.slides.synthetic:write_slides"
        with pytest.raises(pyscale.UserError, match="call pyscale.throughput below `if __name__"):
            pyscale.throughput(slides, make_dataset=write_slides)
    assert dict(os.environ) == before
