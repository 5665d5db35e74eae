"""Steps of a user's own, asked for as a user would, from the command line to the report."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import tifffile

from refusals import assert_refused
from waitingforruns import only_run

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
FEW = ("--workers", "1,2", "--repeats", "1", "--set", "keep_outputs=all")
STEP = ("--step", "true {input} {output}")
SAME_BYTES = "Outputs: same bytes at every N."


@pytest.fixture
def few(home, movie):
    """The first three frames of a movie, cropped."""
    frames = tifffile.imread(movie, key=range(3))[:, :96, :96]
    # Three or four frames would be taken for the colours of one.
    tifffile.imwrite(home / "few.tif", frames, metadata={"axes": "TYX"}, photometric="minisblack")
    return home / "few.tif"


@pytest.fixture
def succeeds(pyscale, few):
    """Run a suite or a step on a movie, at N = 1 and 2; return what is said."""

    def run(*words, data=few):
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


@pytest.mark.smoke
def test_a_script_over_frames_in_one_line(pyscale, succeeds, home):
    example("threshold", home)
    step = python("threshold.py", "--frames", "{first}:{stop}")
    told = succeeds("--step", step)
    assert "own step, threshold.py" in told.out
    assert "Outputs: same content at every N, in other bytes." in told.text
    one, two = outputs("step")
    assert np.array_equal(tifffile.imread(one / "output.tif"), tifffile.imread(two / "output.tif"))
    assert tifffile.imread(one / "output.tif").max() > 0
    report = only_run().report
    objects = pl.read_csv(report / "benchmark_measures.csv")
    assert objects["name"].to_list() == ["objects", "objects"]
    found = sum(int(frame.max()) for frame in tifffile.imread(one / "output.tif"))
    assert objects["value"].to_list() == [found, found]
    assert "| step | objects | 1 |" in (report / "scaling_analysis.md").read_text()
    assert "#SBATCH --cpus-per-task=1" in pyscale("advise").out


PLAIN = """\
import sys, tifffile
source, output, window = sys.argv[1], sys.argv[2], slice(*map(int, sys.argv[4].split(":")))
frames = tifffile.imread(source)
tifffile.imwrite(output, (frames[window] > 100).astype("uint8"))
"""


def test_an_ordinary_script_of_three_frames_a_worker_is_measured(succeeds, home):
    tifffile.imwrite(home / "six.tif", np.arange(6 * 32 * 40, dtype=np.uint16).reshape(6, 32, 40))
    (home / "segment.py").write_text(PLAIN)
    step = python("segment.py", "--frames", "{first}:{stop}")
    assert SAME_BYTES[:8] in succeeds("--step", step, data=home / "six.tif").text


def test_what_would_fail_again_is_not_to_be_tried_again(pyscale, home):
    tifffile.imwrite(home / "six.tif", np.arange(6 * 32 * 40, dtype=np.uint16).reshape(6, 32, 40))
    (home / "segment.py").write_text(PLAIN.replace("[window]", ""))
    step = python("segment.py", "--frames", "{first}:{stop}")
    told = pyscale("run", "--step", step, "--data", home / "six.tif", *FEW)
    assert told.code == 1
    assert "use {first} and {stop}" in told.err
    assert "not retried, because the same input gives the same error" in told.err
    assert "once the cause is mended, finish them with `pyscale resume" in told.err
    assert "try them again" not in told.err
    assert "Surer by" not in told.out


def test_files_of_a_folder_with_one_call_each(succeeds, home):
    folder = home / "images"
    folder.mkdir()
    # The names of two digits come before some of one.
    for number in range(12):
        (folder / f"{number}.txt").write_text(f"text {number}")
    step = ("--step", "cat {file} {file} > {output}/{name}.twice", "--shell", "--split", "files")
    assert SAME_BYTES in succeeds(*step, data=folder).text
    for output in outputs("step"):
        assert {path.name: path.read_text() for path in (output / "output").iterdir()} == {
            f"{number}.twice": 2 * f"text {number}" for number in range(12)
        }


SUITE = """
name = "chain"
summary = "Contacts by pyscale, then lines of a step of one's own"

[stages.contact]
inputs = { labels = "movie" }

[stages.rows]
command = "%s rows.py {input} {input2} {output} {first} {stop}"
inputs = { input = "contact", input2 = "movie" }
output = "rows.csv"
offset = "frame"

[stages.sums]
command = "%s sums.py {input} {output} {first} {stop}"
inputs = { input = "rows" }
output = "sums.csv"
"""
ROWS = """
import sys
contacts, movie, output, first, stop = sys.argv[1:]
with open(output, "w") as file:
    print("frame,first", file=file)
    for frame in range(int(stop) - int(first)):
        print(frame, int(first) + frame, sep=",", file=file)
"""
SUMS = """
import sys
table, output, first, stop = sys.argv[1:]
with open(table) as rows, open(output, "w") as file:
    file.writelines(row for place, row in enumerate(rows) if not place or int(row[0]) >= int(first))
"""


def test_a_chain_of_a_shipped_stage_and_steps_of_ones_own(succeeds, home, labels):
    (home / "chain.toml").write_text(SUITE % (sys.executable, sys.executable))
    (home / "rows.py").write_text(ROWS)
    (home / "sums.py").write_text(SUMS)
    succeeds("chain.toml", data=labels)
    one, two = outputs("rows")
    table = pl.read_csv(two / "rows.csv")
    assert table.equals(pl.read_csv(one / "rows.csv"))
    # Windows count their frames from 0, and the whole counts on.
    assert table.rows() == [(frame, frame) for frame in range(6)]


def test_threads_of_one_process_on_a_file_that_is_no_movie(succeeds, home):
    (home / "my stack.npy").write_bytes(b"what only the step can read")
    step = "test {threads}{workers} = $OMP_NUM_THREADS$OMP_NUM_THREADS && cp {input} {output}"
    asked = ("--step", step, "--shell", "--split", "threads", "--output", "copy.npy")
    told = succeeds(*asked, data="my stack.npy")
    assert "suite step, on my stack.npy (whole)" in told.text
    assert SAME_BYTES in told.text
    one, two = outputs("step")
    assert (two / "copy.npy").read_bytes() == (one / "copy.npy").read_bytes()
    run = only_run()
    trial = run.plan.trial("step-n2-b1")
    assert (trial.tasks, trial.threads) == (("w0", "check"), 2)
    trials = pl.read_csv(run.report / "benchmark_trials.csv")
    # The process holds both cores all the time: nothing of them is idle.
    assert trials.filter(workers=2)["idle_s"].to_list() == pytest.approx([0.0], abs=1e-9)


def test_independent_copies_tell_what_workers_cost_each_other(succeeds):
    assert SAME_BYTES in succeeds("--step", "cp {input} {output}", "--split", "none").text
    run = only_run()
    trial = run.plan.trial("step-n2-b1")
    assert trial.tasks == ("w0", "w1", "check")
    assert set(trial.windows) == {(0, run.plan.movie_frames)}
    trials = pl.read_csv(run.report / "benchmark_trials.csv").sort("workers")
    assert trials["work"].to_list() == [run.plan.movie_frames, 2 * run.plan.movie_frames]
    table = pl.read_csv(run.report / "benchmark_results_aggregated.csv").sort("workers")
    one, two = trials["wall_s"].to_list()
    assert table["efficiency"].to_list() == pytest.approx([1.0, one / two], rel=1e-3)


def test_a_script_that_knows_no_windows_is_given_a_file_of_its_own(succeeds, home, few):
    (home / "halved.py").write_text(
        "import sys, tifffile\n"
        "frames = tifffile.imread(sys.argv[1])\n"
        "tifffile.imwrite(sys.argv[2], frames // 2, photometric='minisblack')\n"
    )
    told = succeeds("--step", python("halved.py"))
    assert "own step, halved.py on cut TIFFs" in told.text
    assert "Outputs: same" in told.text
    for out in outputs("step"):
        assert np.array_equal(tifffile.imread(out / "output.tif"), tifffile.imread(few) // 2)


def test_tiles_of_an_image_become_one_image_at_every_n(succeeds, home, few):
    example("smooth", home)
    step = python("smooth.py", "{y0}", "{y1}", "{x0}", "{x1}")
    tiles = ("--set", "step.tile_px=64", "--set", "step.margin_px=20")
    told = succeeds("--step", step, "--split", "tiles", *tiles)
    assert "4 tiles" in told.out
    assert SAME_BYTES in told.text
    (pictures,) = {tifffile.imread(out / "output.tif").shape for out in outputs("step")}
    assert pictures == tifffile.imread(few).shape


WRONG = [
    (*STEP, "--split", "tiles"),
    ("--step", "true {input} {output} {x0}", "--split", "tiles"),
    ("--step", "no-such {input} {output}"),
    (*STEP, "--runtime", "apptainer"),
    (*STEP, "--split", "none", "--scaling", "weak"),
    (*STEP, "--image", "absent.sif"),
    ("--step", "true {input} {output} {params.n}", "--set", "step.m=3"),
]


@pytest.mark.parametrize("words", WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_is_refused_before_anything_runs(pyscale, home, movie, words):
    assert_refused(pyscale("run", *words, "--data", movie, *FEW))
    assert not (home / "runs").exists()


def test_a_step_that_fails_is_told_with_its_last_lines(pyscale, few):
    step = ("--step", "echo the model is not here >&2; exit 1; {input} {output}", "--shell")
    told = pyscale("run", *step, "--data", few, "--workers", "1", "--repeats", "1")
    assert told.code == 1
    assert "failed with exit code 1; its last lines: the model is not here" in told.err
    assert "the model is not here" in pyscale("status", "--log").out


def test_differing_outputs_are_told_and_fail_a_strict_run(pyscale, few):
    step = "(echo frame,size; seq -f %%.0f,%s {first} $(({stop} - 1))) > {output}; : {input}"
    step = step.replace("%%", "%").replace("%s", "$(({stop} - {first}))")
    asked = ("run", "--step", step, "--shell", "--output", "rows.csv", "--data", few, *FEW)
    told = pyscale(*asked, "--strict")
    assert told.code == 1, told.err
    assert "Outputs differ from the baseline's: step at N = 2." in told.text
    unchecked = pyscale(*asked, "--check", "none")
    assert unchecked.code == 0, unchecked.err
    assert "Outputs: not checked." in unchecked.text


@pytest.mark.parametrize(
    ("name", "words", "left"),
    [
        ("threshold", ("threshold.py", "few.tif", "out.tif", "--frames", "0:2"), "out.tif"),
        ("blur", ("blur.py", "few.tif", "out.png", "2"), "out.png"),
        ("measure", ("measure.py", "labels.ome.tif", "labels.ome.tif", "o.csv", "0", "2"), "o.csv"),
    ],
)
@pytest.mark.usefixtures("few", "labels")
def test_the_example_scripts_are_programs_of_their_own(home, name, words, left):
    """They know nothing of pyscale, and run without it."""
    example(name, home)
    subprocess.run([sys.executable, *words], cwd=home, check=True)
    assert (home / left).stat().st_size > 0


def test_the_example_in_c_is_a_program_of_its_own(home, few, missing):
    compiler = shutil.which("cc")
    if compiler is None:
        missing("a C compiler", "install the package 'gcc'")
    example("median", home)
    compiling = [str(compiler), "-O2", "-fopenmp", "median.c", "-o", "median"]
    subprocess.run(compiling, cwd=home, check=True)
    stack = np.zeros((1, 8, 8), np.uint16)
    stack[0, 4, 4] = 9
    np.save(home / "stack.npy", stack)
    subprocess.run(["./median", "stack.npy", "out.npy"], cwd=home, check=True)
    assert np.load(home / "out.npy").max() == 0


MEET = """
import os, socket, sys
from pathlib import Path

source, output = sys.argv[1:]
here = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if os.environ["RANK"] == "0":
    found = Path(source).read_bytes()
    with socket.create_server(here) as server:
        for _ in range(int(os.environ["WORLD_SIZE"]) - 1):
            connection, _ = server.accept()
            with connection:
                assert connection.makefile("rb").read() == found
    Path(output).write_bytes(found)
else:
    for _ in iter(int, 1):
        try:
            connection = socket.create_connection(here)
        except ConnectionRefusedError:
            continue
        with connection:
            connection.sendall(Path(source).read_bytes())
        break
"""


@pytest.mark.smoke
def test_two_ranks_meet_where_they_are_told_to(succeeds, home):
    (home / "meet.py").write_text(MEET)
    assert SAME_BYTES in succeeds("--step", python("meet.py"), "--split", "ranks").text
    run = only_run()
    trial = run.plan.trial("step-n2-b1")
    assert (trial.tasks, trial.meets) == (("w0", "w1", "check"), True)
    # Together they do the work once.
    trials = pl.read_csv(run.report / "benchmark_trials.csv")
    assert trials["work"].to_list() == [3.0, 3.0]


def test_ranks_of_torch_meet_and_compute_one_output(succeeds, home):
    pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    example("ranks", home)
    assert SAME_BYTES in succeeds("--step", python("smooth.py"), "--split", "ranks").text
    run = only_run()
    trial = run.plan.trial("step-n2-b1")
    spans = pl.read_parquet(run.path / "spans.parquet").filter(workers=2)
    for task in trial.window_tasks:
        assert {"import", "read", "compute"} <= set(spans.filter(task=task)["phase"])


def test_the_rank_that_fails_is_named_and_the_others_end(pyscale, home, few):
    (home / "fails.sh").write_text(
        "if [ $RANK = 1 ]; then echo the second cannot >&2; exit 1; fi\n"
        'cp "$1" "$2"\nif [ $WORLD_SIZE = 2 ]; then exec sleep 1000; fi\n'
    )
    step = ("--step", "sh fails.sh {input} {output}", "--split", "ranks", "--data", few)
    told = pyscale("run", *step, *FEW, "--set", "retries=0")
    assert told.code == 1, told.err
    assert (
        "step-n2-b1 failed: w1: the command of the step failed with exit code 1; its last lines: "
        "the second cannot"
    ) in told.err
