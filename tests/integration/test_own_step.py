"""Steps of a user's own, asked for as a user would, from the command line to the report."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import tifffile
from PIL import Image
from scipy.ndimage import median_filter
from skimage.exposure import rescale_intensity

from waitingforruns import only_run

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
FEW = ("--workers", "1,2", "--repeats", "1", "--keep-outputs", "all")
STEP = ("--step", "true {input} {output}")
SAME_BYTES = "Outputs: same bytes at every N."


@pytest.fixture
def succeeds(pyscale, movie):
    """Run a suite or a step on a movie, at N = 1 and 2; return what is said."""

    def run(*words, data=movie):
        told = pyscale("run", *words, "--data", data, *FEW)
        assert told.code == 0, told.err
        return told

    return run


def python(script, *words):
    """The command line of a step that is a script of Python."""
    return " ".join([sys.executable, script, "{input}", "{output}", *words])


def example(name, home):
    """Copy an example into the working folder, and let it run with this Python."""
    for path in (EXAMPLES / name).iterdir():
        text = path.read_text().replace("python ", f"{sys.executable} ")
        (home / path.name).write_text(text if path.suffix == ".toml" else path.read_text())


def outputs(entry):
    """Outputs of the only run at N = 1 and N = 2."""
    run = only_run()
    one, two = (run.output(run.plan.trial(f"{entry}-n{n}-b1")) for n in (1, 2))
    return one, two


def test_a_script_over_frames_in_one_line(pyscale, succeeds, home, movie):
    example("threshold", home)
    step = python("threshold.py", "--frames", "{first}:{stop}")
    told = succeeds("--step", step)
    assert "own step, threshold.py" in told.out
    assert "Outputs: agree within tolerance at every N (lowest score 1)." in told.text
    one, two = outputs("step")
    assert np.array_equal(tifffile.imread(one / "output.tif"), tifffile.imread(two / "output.tif"))
    assert tifffile.imread(one / "output.tif").max() > 0
    report = only_run().report
    objects = pl.read_csv(report / "benchmark_measures.csv")
    assert objects["name"].to_list() == ["objects", "objects"]
    found = sum(int(frame.max()) for frame in tifffile.imread(one / "output.tif"))
    assert objects["value"].to_list() == [found, found]
    assert "| step | objects | 1 |" in (report / "scaling_analysis.md").read_text()
    succeeds("--step", step, "--dry-run")
    assert "#SBATCH --cpus-per-task=1" in pyscale("advise").out


def test_files_of_a_folder_with_one_call_each(succeeds, home, movie):
    example("blur", home)
    folder = home / "images"
    folder.mkdir()
    # The names of two digits come before some of one.
    frames = tifffile.imread(movie, key=range(12))
    for number, frame in enumerate(frames):
        Image.fromarray(rescale_intensity(frame, out_range="uint8")).save(folder / f"{number}.png")
    assert SAME_BYTES in succeeds("blur.toml", data=folder).text
    for output in outputs("blur"):
        pictures = [Image.open(output / "output" / f"{number}.png") for number in range(12)]
        assert {picture.size for picture in pictures} == {frames.shape[:0:-1]}
        assert len([*(output / "output").iterdir()]) == 12


def few_frames(home, movie, count):
    """Write the first frames of a movie; return the name of the file."""
    frames = tifffile.imread(movie, key=range(count))
    # Three or four frames would be taken for the colours of one.
    tifffile.imwrite(home / "few.tif", frames, metadata={"axes": "TYX"}, photometric="minisblack")
    return "few.tif"


def test_a_chain_of_a_shipped_stage_and_steps_of_ones_own(succeeds, home, movie):
    example("measure", home)
    succeeds("measure.toml", data=few_frames(home, movie, 4))
    one, two = outputs("measure")
    table = pl.read_csv(two / "cells.csv")
    assert table.equals(pl.read_csv(one / "cells.csv"))
    # Windows count their frames from 0, and the whole counts on.
    assert table["frame"].to_list() == sorted(table["frame"].to_list())
    assert table["frame"].max() == 3
    summary = outputs("summary")[1] / "summary.csv"
    assert pl.read_csv(summary)["cells"].sum() == table.height


def test_threads_of_one_process_on_a_single_image(succeeds, home, movie):
    tifffile.imwrite(home / "one.tif", tifffile.imread(movie, key=0))
    (home / "threads.py").write_text(
        "import os, sys, tifffile\n_, source, out, threads, workers = sys.argv\n"
        "assert threads == workers == os.environ['OMP_NUM_THREADS']\n"
        "tifffile.imwrite(out, tifffile.imread(source))\n"
    )
    step = python("threads.py", "{threads}", "{workers}")
    succeeds("--step", step, "--split", "threads", data="one.tif")
    one, two = outputs("step")
    assert (two / "output.tif").read_bytes() == (one / "output.tif").read_bytes()
    run = only_run()
    trial = run.plan.trial("step-n2-b1")
    assert (trial.tasks, trial.threads) == (("w0", "check"), 2)
    trials = pl.read_csv(run.report / "benchmark_trials.csv")
    # The process holds both cores all the time: nothing of them is idle.
    assert trials.filter(workers=2)["idle_s"].to_list() == pytest.approx([0.0], abs=1e-9)


def test_threads_of_a_compiled_program_on_a_file_that_is_no_movie(succeeds, home, movie, missing):
    compiler = shutil.which("cc")
    if compiler is None:
        missing("a C compiler", "install the package 'gcc'")
    example("median", home)
    compiling = [str(compiler), "-O2", "-fopenmp", "median.c", "-o", "median"]
    subprocess.run(compiling, cwd=home, check=True)
    stack = tifffile.imread(movie)[:3, :100, :100].astype(np.uint16)
    np.save(home / "my stack.npy", stack)
    step = ("--step", "./median {input} {output}", "--split", "threads")
    told = succeeds(*step, "--output", "median.npy", data="my stack.npy")
    assert "suite step, on my stack.npy (whole)" in told.text
    assert SAME_BYTES in told.text
    _, two = outputs("step")
    expected = median_filter(stack, 3, mode="nearest")
    np.testing.assert_array_equal(np.load(two / "median.npy"), expected)


def test_independent_copies_tell_what_workers_cost_each_other(succeeds, home):
    example("threshold", home)
    step = python("threshold.py", "--frames", "{first}:{stop}")
    assert SAME_BYTES in succeeds("--step", step, "--split", "none").text
    run = only_run()
    trial = run.plan.trial("step-n2-b1")
    assert trial.tasks == ("w0", "w1", "check")
    assert set(trial.windows) == {(0, run.plan.movie_frames)}
    trials = pl.read_csv(run.report / "benchmark_trials.csv").sort("workers")
    assert trials["work"].to_list() == [run.plan.movie_frames, 2 * run.plan.movie_frames]
    table = pl.read_csv(run.report / "benchmark_results_aggregated.csv").sort("workers")
    one, two = trials["wall_s"].to_list()
    assert table["efficiency"].to_list() == pytest.approx([1.0, one / two], rel=1e-3)


def test_tiles_of_an_image_become_one_image_at_every_n(succeeds, home, movie):
    example("smooth", home)
    step = python("smooth.py", "{y0}", "{y1}", "{x0}", "{x1}")
    tiles = ("--set", "step.tile_px=64", "--set", "step.margin_px=20")
    few = few_frames(home, movie, 3)
    told = succeeds("--step", step, "--split", "tiles", *tiles, data=few)
    assert "9 tiles" in told.out
    assert SAME_BYTES in told.text
    (pictures,) = {tifffile.imread(out / "output.tif").shape for out in outputs("step")}
    assert pictures == tifffile.imread(home / few).shape


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*STEP, "--split", "tiles"), "the command never names its region"),
        (("pipeline", *STEP), "leave out the suite pipeline"),
        (("--split", "files"), "--split: that is said of a step"),
        (("--step", "a {inptu} {output}"), "did you mean 'input'?"),
        ((*STEP, "--merge", "frame"), "did you mean 'frames'?"),
        (("--step", "no-such {input} {output}"), "the program 'no-such' of the step is not"),
        ((*STEP, "--runtime", "apptainer"), "step is a step without an image"),
        (
            (*STEP, "--split", "none", "--scaling", "weak"),
            "--scaling weak: workers of step have no windows of their own",
        ),
        ((*STEP, "--image", "absent.sif"), "absent.sif"),
        (
            ("--step", "true {input} {output} {params.n}", "--set", "step.m=3"),
            "did you mean 'params.m'?",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(pyscale, home, movie, words, said):
    told = pyscale("run", *words, "--data", movie, *FEW)
    assert told.code == 2
    assert said in " ".join(told.err.split()), told.err
    assert not (home / "runs").exists()


def test_a_step_that_fails_is_told_with_its_last_lines(pyscale, home, movie):
    (home / "fails.py").write_text("import sys\nsys.exit('the model is not here')\n")
    step = ("--step", python("fails.py"), "--data", movie, "--workers", "1", "--repeats", "1")
    told = pyscale("run", *step)
    assert told.code == 1
    assert "failed with exit code 1; its last lines: the model is not here" in told.err
    assert "the model is not here" in pyscale("status", "--log").out


def test_differing_outputs_are_told_and_fail_a_strict_run(pyscale, home, movie):
    (home / "counts.py").write_text(
        "import sys\n_, source, out, first, stop = sys.argv\n"
        "rows = [f'{frame},{int(stop) - int(first)}' for frame in range(int(first), int(stop))]\n"
        "open(out, 'w').write('frame,size\\n' + '\\n'.join(rows) + '\\n')\n"
    )
    step = python("counts.py", "{first}", "{stop}")
    asked = ("run", "--step", step, "--output", "rows.csv", "--data", movie, *FEW, "--strict")
    told = pyscale(*asked)
    assert told.code == 1
    assert "Outputs differ from the baseline's: step at N = 2." in told.text
    unchecked = pyscale(*asked[:-1], "--check", "none")
    assert unchecked.code == 0, unchecked.err
    assert "Outputs: not checked." in unchecked.text


def test_a_suite_of_ones_own_is_read_with_its_keys(pyscale, home):
    suite = home / "mine.toml"
    suite.write_text(
        'name = "mine"\nsummary = "Mine"\n[stages.cells]\ncommand = "true {input} {output}"\n'
        'outptu = "cells.csv"\n'
    )
    told = pyscale("run", suite, "--data", "any.tif")
    assert told.code == 2
    assert "'stages.cells': unknown key 'outptu'; did you mean 'output'?" in " ".join(
        told.err.split()
    )


def test_the_example_scripts_are_programs_of_their_own(home, movie):
    """They know nothing of pyscale, and run without it."""
    example("threshold", home)
    asked = [sys.executable, "threshold.py", movie, "out.tif", "--frames", "0:2"]
    subprocess.run(asked, cwd=home, check=True)
    assert len(tifffile.imread(home / "out.tif")) == 2


def test_ranks_of_torch_meet_and_compute_one_output(succeeds, home, movie):
    pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    example("ranks", home)
    step = ("--step", python("smooth.py"), "--split", "ranks")
    assert SAME_BYTES in succeeds(*step, data=few_frames(home, movie, 4)).text
    run = only_run()
    trial = run.plan.trial("step-n2-b1")
    assert (trial.tasks, trial.layout) == (("w0", "w1", "check"), "gang")
    spans = pl.read_parquet(run.path / "spans.parquet").filter(workers=2)
    for task in trial.window_tasks:
        assert {"import", "read", "compute"} <= set(spans.filter(task=task)["phase"])
    # Together they do the work once.
    trials = pl.read_csv(run.report / "benchmark_trials.csv")
    assert trials["work"].to_list() == [4.0, 4.0]


def test_the_rank_that_fails_is_named_and_the_others_end(pyscale, home, movie):
    (home / "fails.py").write_text(
        "import os, sys, shutil, signal\n"
        "if os.environ['RANK'] == '1':\n    sys.exit('the second cannot')\n"
        "shutil.copy(sys.argv[1], sys.argv[2])\n"
        "if os.environ['WORLD_SIZE'] == '2':\n    signal.pause()\n"
    )
    step = ("--step", python("fails.py"), "--split", "ranks", "--data", movie)
    told = pyscale("run", *step, *FEW)
    assert told.code == 1, told.err
    assert (
        "step-n2-b1 failed: w1: the command of the step failed with exit code 1; its last lines: "
        "the second cannot"
    ) in told.err
