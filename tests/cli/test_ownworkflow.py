"""A workflow on the command line becomes a suite, and the suite that command line again."""

import shlex

import pytest

from pyscale.errors import UserError
from pyscale.origin import method_of
from pyscale.ownstep import WORKFLOW, words_for, workflow_asked_for
from pyscale.suite import Suite

NOTHING = dict.fromkeys(("output", "split", "merge", "check", "environment", "image", "shell"))
OTHERS = dict.fromkeys(("suite", "step", "workers", "snakemake", "nextflow", "sweep"))
OTHERS |= {"data": "movie.tif"}


@pytest.fixture(autouse=True)
def engines(tmp_path, monkeypatch):
    """A working folder with two workflows, and programs with the names of engines."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    for name in ("snakemake", "nextflow"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("Snakefile", "main.nf", "my workflow.smk"):
        (tmp_path / name).write_text("")
    return tmp_path / "bin"


def asked(others=OTHERS, **said):
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
            ["--snakemake", "{home}/Snakefile --config 'movie={{input}}'", "--sweep", "cores"],
        ),
        (
            {"snakemake": "my workflow.smk"},
            None,
            ["--snakemake", "'{home}/my workflow.smk'", "--sweep", "cores"],
        ),
        (
            {"nextflow": "main.nf", "sweep": "process.maxForks", "check": "none"},
            None,
            ["--nextflow", "{home}/main.nf", "--sweep", "process.maxForks", "--check", "none"],
        ),
    ],
)
def test_a_workflow_is_asked_for_again_by_the_same_words(tmp_path, said, values, again):
    suite, found = asked(**said)
    assert found == values
    words = words_for(suite)
    assert words is not None
    expected = [word.format(home=tmp_path) for word in again]
    assert words == [*expected[:4], "--output", "results", *expected[4:]]
    of_workflow = dict(zip(words[::2], words[1::2], strict=True))
    repeated = {name.removeprefix("--"): word for name, word in of_workflow.items()}
    assert asked(**repeated)[0] == suite


def test_n_is_the_cores_of_one_process_and_the_method_names_the_file():
    suite, _ = asked(snakemake="Snakefile")
    params = suite.stages[WORKFLOW].params
    assert (suite.name, params["split"], params["output"]) == ("snakemake", "threads", "results")
    assert suite.shares_no_frames
    # What is set by --set is looked at when trials are planned.
    asked(snakemake="Snakefile --config sigma={params.sigma}")
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
        asked(OTHERS | others, **said)
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
    with pytest.raises(UserError, match="is not found on this machine") as raised:
        asked(**said)
    assert why in str(raised.value)
    # An environment that has it will do.
    (engine,) = said
    suite, _ = asked(**said, environment=tmp_path)
    words = words_for(suite)
    assert words is not None
    assert shlex.join(words).startswith(f"--{engine}")
