"""What is found of the input stands in a line of a dry run, a run and doctor, and is measured."""

import pytest
import tifffile

from commandline import answer_of
from moviefiles import noise
from pyscale.commands import running
from pyscale.doctor.examined import plan_to_examine
from pyscale.doctor.files import data
from pyscale.references.workid import work_id_of
from pyscale.settings import load_settings
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import read_provenance
from refusals import assert_refused, assert_said

RUN = ("pyscale", "run", "pipeline", "--only", "register_denoise", "--workers", "1,2")


@pytest.fixture
def movie(tmp_path, monkeypatch):
    """A movie of two channels and four planes, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    named = {"axes": "TZCYX", "Channel": {"Name": ["DAPI", "GFP"]}}
    path = tmp_path / "cells.ome.tif"
    tifffile.imwrite(path, noise(6, 4, 2), ome=True, metadata=named)
    return path


@pytest.fixture
def started(monkeypatch):
    """Runs that were made, of which none is measured."""
    runs = []
    monkeypatch.setattr(running, "_carry_out", lambda run, _: runs.append(run) or 0)
    return runs


def line_of(text):
    return next(" ".join(line.split()) for line in text.splitlines() if "cells.ome.tif: " in line)


def test_a_dry_run_a_run_and_doctor_show_the_same_line(movie, capsys, started, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    choice = ("--data", movie, "--project", "max", "--frames", "1:5")
    dry = answer_of(capsys, *RUN, *choice, "--dry-run")
    assert dry.code == 0, dry.err
    said = line_of(dry.out).removeprefix("data ")
    assert_said(said)
    assert line_of(answer_of(capsys, *RUN, *choice).err) == said
    settings = load_settings(data=str(movie), project="max", frames="1:5")
    (found,) = data(plan_to_examine("pipeline", settings))
    assert found.what == said


def test_what_is_chosen_is_in_the_plan_the_work_and_the_orders(movie, capsys, started):
    for choice in (("--channel", "GFP"), ("--channel", "1"), ("--channel", "DAPI")):
        answer = answer_of(capsys, *RUN, "--data", movie, "--plane", "2", *choice)
        assert answer.code == 0, answer.err
    by_name, _, other = started
    assert by_name.plan.reading.given == {"channel": "1", "plane": "2"}
    ids = [work_id_of(RunFolder(run.path)) for run in started]
    assert ids[0] == ids[1] != ids[2]
    reading = by_name.plan.reading_of(by_name.plan.trials[0])
    assert reading == by_name.plan.reading
    (file,) = read_provenance(other.path).input_files
    assert file.name == movie.name


@pytest.mark.parametrize(
    "choice",
    [
        (),
        ("--plane", "0", "--channel", "Cy5"),
        ("--plane", "0", "--frames", "4:9"),
        ("--plane", "0", "--frames", "five"),
        ("--plane", "0", "--project", "max"),
        ("--plane", "0", "--series", "3"),
    ],
    ids=" ".join,
)
def test_what_is_not_certain_or_there_is_refused_with_the_option_that_decides(
    movie, capsys, choice
):
    assert_refused(answer_of(capsys, *RUN, "--data", movie, *choice, "--dry-run"))


def test_a_command_that_opens_the_movie_itself_is_given_no_part_of_it(movie, capsys):
    step = ("pyscale", "run", "--step", "true {input} {output} {first}", "--data", movie)
    step += ("--plane", "0", "--dry-run")
    assert_refused(answer_of(capsys, *step))
    assert answer_of(capsys, *step, "--set", "step.window=file").code == 0


def test_slides_are_counted_with_the_folders_that_they_lie_in(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSCALE_DATA_FOLDER", str(tmp_path / "data"))
    for name in ("a", "b"):
        (tmp_path / "scans" / name).mkdir(parents=True)
        (tmp_path / "scans" / name / "slide.svs").write_text("slide")
    asked = ("pyscale", "run", "loader", "--data", "scans", "--workers", "2", "--dry-run")
    dry = answer_of(capsys, *asked)
    assert "data scans: 2 slides in 2 folders, 10 bytes" in " ".join(dry.out.split()), dry.err
