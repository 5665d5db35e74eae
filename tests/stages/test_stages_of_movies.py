"""What all stages of the pipeline do alike with a movie, its windows and their outputs."""

from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest
import tifffile

from movingsquares import write_bright_squares, write_moving_squares
from pyscale_stages.reading import Reading
from pyscale_stages.registry import load_stage
from stagetasks import Bench

STAGES = ("register_denoise", "segment", "contact", "track")
OF_FRAMES = STAGES[:2]
PHASES = {
    "register_denoise": {"import", "read", "compute", "write"},
    "segment": {"import", "model_load", "read", "compute", "write"},
    "contact": {"import", "read", "compute", "write"},
    "track": {"import", "read", "compute", "write"},
}


@pytest.fixture(scope="module", params=STAGES)
def bench(request, tmp_path_factory):
    """A stage, with a movie of six frames in its folder."""
    folder = tmp_path_factory.mktemp(request.param)
    write = write_bright_squares if request.param in OF_FRAMES else write_moving_squares
    write(folder / "movie.ome.tif")
    return Bench(request.param, folder)


@pytest.fixture(scope="module")
def movie(bench):
    return bench.folder / "movie.ome.tif"


@pytest.fixture(scope="module")
def whole(bench, movie):
    return bench.done("run", movie, output="whole")


@pytest.fixture(scope="module")
def windows(bench, movie):
    return bench.windows(movie, (0, 1), (1, 4), (4, 6))


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def with_axes_zyx(path):
    tifffile.imwrite(path, tifffile.imread(path), ome=True, metadata={"axes": "ZYX"})


def with_nan(path):
    frames = tifffile.imread(path).astype(np.float32)
    frames[2, 4, 5] = np.nan
    tifffile.imwrite(path, frames, ome=True, metadata={"axes": "TYX"})


@pytest.mark.parametrize(
    ("damage", "options"),
    [
        (cut, {}),
        (lambda path: path.write_bytes(b""), {}),
        (lambda path: path.write_text("1 0 30 0"), {}),
        (Path.unlink, {}),
        (with_axes_zyx, {}),
        (with_nan, {}),
        (None, {"reading": Reading(axes="TCYX")}),
        (None, {"frames": (2, 9)}),
        (None, {"movie_frames": 9}),
    ],
    ids=["cut", "empty", "text", "absent", "ZYX", "NaN", "axes", "window", "frames"],
)
def test_a_movie_that_cannot_be_read_is_refused(bench, movie, damage, options):
    bad = movie.with_name("bad.ome.tif")
    bad.write_bytes(movie.read_bytes())
    if damage is not None:
        damage(bad)
    bench.refused("run", bad, **options)


def test_a_misspelt_parameter_suggests_the_right_one(bench, movie):
    name = next(iter(load_stage(bench.stage).params.model_fields))
    bench.refused("run", movie, **{f"{name}s": 1})


def test_merged_windows_have_the_bytes_of_the_whole(bench, whole, windows):
    merged = bench.done("merge", *reversed(windows), output="merged")
    files = [path.name for path in sorted(whole.iterdir())]
    assert files == [path.name for path in sorted(merged.iterdir())]
    for name in files:
        assert (merged / name).read_bytes() == (whole / name).read_bytes(), name
    agreement = bench.agreement(whole, merged)
    assert (agreement.same, agreement.identical, agreement.score) == (True, True, 1)


def test_windows_with_a_gap_are_not_merged(bench, windows):
    bench.refused("merge", windows[0], windows[2])


def test_outputs_of_other_frames_do_not_agree(bench, windows):
    if bench.stage == "contact":
        assert bench.agreement(*windows[:2]).score == 0
    else:
        bench.refused("check", *windows[:2])


@pytest.mark.parametrize("damage", [Path.unlink, cut], ids=["missing", "cut"])
@pytest.mark.parametrize("verb", ["merge", "check"])
def test_a_damaged_output_is_neither_merged_nor_compared(bench, whole, tmp_path, verb, damage):
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for path in whole.iterdir():
        (damaged / path.name).write_bytes(path.read_bytes())
    # The largest of its files is what the stage has computed.
    result = max(damaged.iterdir(), key=lambda path: path.stat().st_size)
    damage(result)
    inputs = [damaged] if verb == "merge" else [whole, damaged]
    bench.refused(verb, *inputs)


def share_of_gaps(result):
    """Share of a task's time that lies between its spans, none of which overlap."""
    spans = [span for span in result.spans if span.phase != "python_start"]
    gaps_s = [after.start_monotonic_s - before.end_monotonic_s for before, after in pairwise(spans)]
    assert min(gaps_s) >= 0
    return sum(gaps_s) / (spans[-1].end_monotonic_s - spans[0].start_monotonic_s)


def test_all_work_lies_in_spans_that_follow_each_other(bench, movie):
    result = bench.run("run", movie)
    assert {span.phase for span in result.spans} - {"python_start"} == PHASES[bench.stage]
    # These tasks take milliseconds, and a busy machine may stop a process between two spans.
    runs = chain([result], (bench.run("run", movie) for _ in range(2)))
    assert any(share_of_gaps(run) < 0.5 for run in runs)
    assert result.counters.frames == 6
    assert {output.name for output in result.outputs} == {
        path.name for path in (bench.folder / "out").iterdir()
    }
