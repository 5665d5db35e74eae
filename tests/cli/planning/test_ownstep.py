"""A step or a workflow on the command line becomes a suite, and that the command line again."""

import shlex
from pathlib import Path

import pytest

from programs import put_program
from pyscale.errors import UserError
from pyscale.evaluation.origin import method_of
from pyscale.planning.ownstep import WORKFLOW, step_asked_for, words_for, workflow_asked_for
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


OTHERS = dict.fromkeys(("suite", "step", "workers", "snakemake", "nextflow", "sweep"))
OTHERS |= {"data": "movie.tif"}


@pytest.fixture(autouse=True)
def engines(tmp_path, monkeypatch):
    """A working folder with two workflows, and programs with the names of engines."""
    monkeypatch.chdir(tmp_path)
    for name in ("snakemake", "nextflow"):
        put_program(tmp_path / "bin", name, "")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("Snakefile", "main.nf", "my workflow.smk"):
        (tmp_path / name).write_text("")
    return tmp_path / "bin"


def workflow(others=OTHERS, **said):
    flags = {name: said.pop(name) for name in ("snakemake", "nextflow", "sweep") if name in said}
    found = workflow_asked_for(OTHERS | others | flags, NOTHING | said)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("said", "values", "again"),
    [
        (
            {"snakemake": "Snakefile --config movie={input}", "sweep": "cores=1,2,4"},
            "1,2,4",
            ("{home}/Snakefile --config 'movie={{input}}'", "cores"),
        ),
        ({"snakemake": "my workflow.smk"}, None, ("'{home}/my workflow.smk'", "cores")),
        (
            {"nextflow": "main.nf", "sweep": "process.maxForks", "check": "none"},
            None,
            ("{home}/main.nf", "process.maxForks", "--check", "none"),
        ),
    ],
)
def test_a_workflow_is_asked_for_again_by_the_same_words(tmp_path, said, values, again):
    suite, found = workflow(**said)
    assert found == values
    words = words_for(suite)
    assert words is not None
    file, sweep, *more = (word.format(home=tmp_path) for word in again)
    expected = [f"--{suite.name}", file, "--sweep", sweep, "--output", "results", *more]
    assert words == expected
    of_workflow = dict(zip(words[::2], words[1::2], strict=True))
    repeated = {name.removeprefix("--"): word for name, word in of_workflow.items()}
    assert workflow(**repeated)[0] == suite


def test_n_is_the_cores_of_one_process_and_the_method_names_the_file():
    suite, _ = workflow(snakemake="Snakefile")
    params = suite.stages[WORKFLOW].params
    assert (suite.name, params["split"], params["output"]) == ("snakemake", "threads", "results")
    assert suite.shares_no_frames
    # What is set by --set is looked at when trials are planned.
    workflow(snakemake="Snakefile --config sigma={params.sigma}")
    assert method_of("command", params, "cpu").name == "own step, Snakefile"


def test_other_suites_are_no_workflows():
    assert words_for(Suite(name="snakemake", summary="Mine", stages={})) is None
    assert workflow_asked_for(OTHERS, NOTHING) is None


@pytest.mark.parametrize(
    ("said", "others", "why"),
    [
        ({"snakemake": "Snakefile", "sweep": "coers=1,2"}, {}, "did you mean 'cores'"),
        ({"nextflow": "main.nf", "sweep": "process.maxFork=1"}, {}, "'process.maxForks'"),
        ({"sweep": "cores=1,2"}, {}, "name it by --snakemake or --nextflow"),
        ({"snakemake": "Snakefile", "nextflow": "main.nf"}, {}, "one workflow"),
        ({"snakemake": "Snakefile", "sweep": "cores="}, {}, "has no values"),
        ({"snakemake": "Snakefile", "sweep": "cores=1"}, {"workers": "2"}, "leave one of them out"),
        ({"snakemake": "Snakefile"}, {"data": None}, "needs --data"),
        ({"snakemake": "Snakefile"}, {"suite": "pipeline"}, "leave out the suite"),
        ({"snakemake": "Snakefile"}, {"step": "a b"}, "leave out the step"),
        ({"snakemake": "Snakefile", "split": "tiles"}, {}, "--split is of a step"),
        ({"snakemake": "Snakefile", "image": "a.sif"}, {}, "--image is of a step"),
        ({"snakemake": "Snakefile", "check": "same"}, {}, "check: choose from equal"),
        ({"snakemake": "Snakefile", "output": "a/b"}, {}, "output"),
        ({"snakemake": "Snakefile --config a={inptu}"}, {}, "'input'"),
        ({"snakemake": "Snakfile"}, {}, "'Snakfile' does not exist: name the file"),
        ({"snakemake": "."}, {}, "'.' is a folder: name the file"),
        ({"snakemake": ""}, {}, "'' does not exist"),
        ({"snakemake": "Snakefile 'a"}, {}, "cannot be split into words"),
        ({"snakemake": "Snakefile --directory x"}, {}, "work directory of its own: leave it out"),
        ({"nextflow": "main.nf -resume"}, {}, "skip what an earlier one did"),
    ],
)
def test_what_has_no_meaning_is_refused(said, others, why):
    with pytest.raises(UserError) as raised:
        workflow(OTHERS | others, **said)
    assert why in str(raised.value)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"snakemake": "Snakefile"}, "install it (`pip install snakemake`)"),
        ({"nextflow": "main.nf"}, "it needs Java 17"),
    ],
)
def test_an_absent_engine_is_named_with_the_way_to_get_it(tmp_path, monkeypatch, said, why):
    monkeypatch.setenv("PATH", "/nowhere")
    with refused(UserError) as raised:
        workflow(**said)
    assert why in str(raised.value)
    # An environment that has it will do.
    (engine,) = said
    suite, _ = workflow(**said, environment=tmp_path)
    words = words_for(suite)
    assert words is not None
    assert shlex.join(words).startswith(f"--{engine}")
