from pathlib import Path

import pytest

from pyscale.errors import UserError
from pyscale.evaluation.origin import method_of
from pyscale.planning.runsettings import step_asked_for, words_for
from pyscale.planning.suite import Suite, load_suite
from refusals import refused

STEP = "python 'my segment.py' {input} {output} --frames {first}:{stop}"
NOTHING = dict.fromkeys(("output", "split", "merge", "check", "environment", "image", "shell"))


def asked(step, **keys):
    found = step_asked_for(None, step, NOTHING | keys)
    assert isinstance(found, Suite)
    return found


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({}, []),
        ({"output": "cells.csv", "check": "none"}, ["--output", "cells.csv", "--check", "none"]),
        ({"split": "threads", "shell": True}, ["--split", "threads", "--shell"]),
    ],
)
def test_a_step_is_asked_for_again_by_the_same_words(keys, words):
    suite = asked(STEP, **keys)
    assert words_for(suite) == ["--step", STEP, *words]
    assert asked(STEP, **keys) == suite


def test_files_are_found_from_the_folder_of_the_caller(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    params = asked(STEP, environment=Path("env"), image="mine.sif").stages["step"].params
    assert params["folder"] == str(tmp_path)
    assert params["environment"] == str(tmp_path / "env")
    assert params["image"] == str(tmp_path / "mine.sif")


def test_steps_of_a_suite_run_in_the_folder_of_its_file(tmp_path):
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\nsummary = "Mine"\n'
        '[stages.one]\ncommand = "a {input} {output} {params.n}"\nparams = { n = 2 }\n'
        '[stages.two]\ncommand = ["b", "{input}", "{output}"]\ninputs = { input = "one" }\n'
        'folder = "scripts"\nenvironment = "~no-such-user/env"\n'
    )
    suite = load_suite(str(tmp_path / "mine.toml"))
    assert suite.stage_name("one") == suite.stage_name("two") == "command"
    assert suite.stages["one"].inputs == {"input": "movie"}
    assert suite.stages["one"].params["folder"] == str(tmp_path)
    assert suite.stages["two"].params["folder"] == str(tmp_path / "scripts")
    assert suite.stages["two"].params["environment"] == str(tmp_path / "~no-such-user" / "env")
    assert words_for(suite) is None


def test_the_method_is_named_after_the_script_or_the_workflow():
    step = "snakemake --cores {threads} --snakefile a/Snakefile --config images={input} {output}"
    params = asked(step, split="threads", output="out").stages["step"].params
    assert method_of("command", params, "cpu").name == "own step, Snakefile"


def test_files_of_a_folder_are_the_data_of_a_step_that_shares_them():
    assert asked("a {file} {output}", split="files").unit == "files"
    assert asked(STEP).unit == "frames"


@pytest.mark.parametrize(
    ("suite", "step", "keys"),
    [
        ("pipeline", STEP, {}),
        (None, None, {"check": "none"}),
        (None, STEP, {"split": "frame"}),
    ],
    ids=["leave out the suite pipeline", "--check: that is said of a step", "split"],
)
def test_what_cannot_be_is_refused(suite, step, keys):
    with refused(UserError):
        step_asked_for(suite, step, NOTHING | keys)


A_STEP = '[stages.one]\ncommand = "a {input} {output}"\n'


OF_FRAMES = '[stages.segment]\ninputs = { frames = "movie" }'
OF_FILES = '[stages.one]\ncommand = "a {file} {output}"\nsplit = "files"'
OF_TILES = f'{A_STEP}split = "tiles"\nwindow = "file"'


@pytest.mark.parametrize(
    "text",
    [
        f'{A_STEP}outptu = "b"',
        f"{A_STEP}params = {{ output = 1 }}",
        # Data must fit what workers share.
        f'data = "files"\n{OF_FRAMES}',
        f'data = "movie"\n{OF_FILES}',
        f'data = "files"\n{OF_TILES}',
    ],
)
def test_a_wrong_step_of_a_suite_is_refused(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(f'name = "mine"\nsummary = "Mine"\n{text}\n')
    with refused(UserError):
        load_suite(str(path))
