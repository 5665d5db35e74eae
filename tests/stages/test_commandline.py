"""The command line of the stages: inputs by slot or by order, and sentences for mistakes."""

import json
import time
from itertools import pairwise
from pathlib import Path

import pytest

from movingsquares import write_moving_squares
from pyscale_stages.commandline import main
from pyscale_stages.contract import Agreement, TaskSpec
from refusals import assert_held
from smallstages import SMALL


@pytest.fixture
def labels(tmp_path):
    """Six frames of labels in a folder with an equals sign."""
    folder = tmp_path / "rate=0.1"
    folder.mkdir()
    return write_moving_squares(folder / "labels.ome.tif")


@pytest.fixture
def run(capsys):
    def call(*arguments):
        code = main([str(argument) for argument in arguments], time.monotonic())
        return code, capsys.readouterr().err

    return call


@pytest.mark.slow
@pytest.mark.parametrize("slot", ["", "labels="])
def test_a_path_may_hold_an_equals_sign(run, labels, slot):
    parts = [labels.parent / "a", labels.parent / "b"]
    for part, frames in zip(parts, ("0:2", "2:6"), strict=True):
        options = ("--frames", frames, "--output", part)
        assert run("track", "run", "--input", f"{slot}{labels}", *options) == (0, "")
    merged = labels.parent / "merged"
    inputs = ("--input", f"w0={parts[0]}", "--input", parts[1])
    assert run("track", "merge", *inputs, "--output", merged) == (0, "")
    assert json.loads((merged / "window.json").read_text())["frames"] == [0, 6]


def test_the_first_frames_may_be_taken_for_the_whole_movie(run, labels):
    """Its windows join without the rest, and no task looks at a frame of the rest."""
    whole, parts = labels.parent / "whole", [labels.parent / "a", labels.parent / "b"]
    first_three = ("--input", labels, "--movie-frames", 3)
    assert run("track", "run", *first_three, "--output", whole) == (0, "")
    for part, frames in zip(parts, ("0:2", "2:3"), strict=True):
        options = ("--frames", frames, "--output", part)
        assert run("track", "run", *first_three, *options) == (0, "")
    merged = labels.parent / "merged"
    inputs = [word for part in parts for word in ("--input", part)]
    assert run("track", "merge", *inputs, "--output", merged) == (0, "")
    for folder in (whole, merged):
        window = json.loads((folder / "window.json").read_text())
        assert (window["frames"], window["movie_frames"]) == ([0, 3], 3)
    assert (whole / "tracks.parquet").read_bytes() == (merged / "tracks.parquet").read_bytes()


def test_the_answer_of_a_task_without_a_record_leaves_out_its_repeats(tmp_path, capsys):
    params, out = tmp_path / "params.json", tmp_path / "out"
    params.write_text(json.dumps(SMALL["decompress"]))
    arguments = ["decompress", "run", "--params", str(params), "--output", str(out), "--json"]
    assert main(arguments, time.monotonic()) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["status"], answer["samples"]) == ("done", {})
    assert (out / "timings.parquet").exists()


def test_an_unknown_slot_and_an_output_that_is_no_folder_are_refused_before_the_work(run, labels):
    code, said = run("track", "run", "--input", "lables=none.tif", "--output", "x")
    assert code == 2
    assert "no unused input 'lables': did you mean 'labels'?" in said
    too_long = "x" * 300
    for output, why in ((labels, "Not a directory"), (too_long, "File name too long")):
        code, said = run("track", "run", "--input", labels, "--output", output)
        sentence = f"--output {output} cannot become a folder of results ({why})"
        assert (code, said) == (2, f"error: {sentence}: name another one\n")


@pytest.mark.parametrize("slot", ["", "labels="])
def test_an_input_that_cannot_be_looked_at_is_told_in_the_record(run, tmp_path, slot):
    result, name = tmp_path / "result.json", "x" * 300
    code, said = run("track", "run", "--input", f"{slot}{name}", "--result", result)
    sentence = (
        f"the input {name} cannot be read (File name too long): name a file or folder that you "
        "may read"
    )
    assert (code, said) == (2, f"error: {sentence}\n")
    assert json.loads(result.read_text())["error"]["message"] == sentence


def test_an_earlier_window_does_not_vouch_for_a_run_that_failed(run, labels):
    out = labels.parent / "out"
    assert run("track", "run", "--input", labels, "--output", out)[0] == 0
    assert (out / "window.json").exists()
    assert run("track", "run", "--input", labels, "--output", out, "--frames", "0:9")[0] == 2
    assert not (out / "window.json").exists()


def test_ranks_that_could_never_meet_are_refused(run, labels):
    for flags in (
        ("--rank", 2, "--ranks", 2, "--meeting", "m"),
        *(("--rank", 1), ("--rank", -1), ("--ranks", 0), ("--ranks", 2)),
    ):
        code, said = run("track", "run", "--input", labels, "--output", "x", *flags)
        assert code == 2
        assert_held(said)


def test_a_task_of_a_rank_can_be_repeated_by_hand(labels):
    met = {"rank": 1, "ranks": 2, "meeting": labels.parent / "meeting"}
    spec = TaskSpec(stage="track", inputs=(("labels", labels),), **met)
    given = dict(pairwise(spec.command_line(Path("params.json"), Path("result.json"))))
    assert {name: given[f"--{name}"] for name in met} == {name: str(met[name]) for name in met}


def test_a_task_without_a_record_says_in_a_line_what_it_left_and_found(labels, capsys):
    def said(*words):
        assert main([str(word) for word in words], time.monotonic()) == 0
        return capsys.readouterr().out

    folders = [labels.parent / name for name in ("a", "b")]
    for folder in folders:
        line = said("track", "run", "--input", labels, "--output", folder)
        assert line.startswith("wrote tracks.parquet, ")
        assert " s: 6 frames, " in line
        assert line.count("\n") == 1
    verdict = said("track", "check", "--input", folders[0], "--input", folders[1])
    assert verdict.startswith("the same: ")
    assert verdict.endswith(" is 1, and 0.999 is enough\n")


@pytest.mark.parametrize(("tolerance", "same"), [(None, False), (0.5, True), (0.95, False)])
def test_a_check_is_judged_by_the_tolerance_that_is_given(tolerance, same):
    own = {"same": False, "identical": False, "measure": "share of cells", "details": {}}
    judged = Agreement(score=0.9, tolerance=0.99, **own).judged_by(tolerance)
    assert (judged.same, judged.tolerance) == (same, tolerance or 0.99)
