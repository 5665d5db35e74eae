"""Descriptions of tools, of which no step can be made or whose suite is written to a file."""

import json
import tomllib

import pytest

from commandline import answer_of
from describedtools import BILAYERS, CWL, CYTOMINE, EVERY, written
from pyscale.planning.suite import load_suite
from refusals import assert_refused


@pytest.fixture
def imported(tmp_path, monkeypatch, capsys):
    """Write a description, or its text, and import it."""
    monkeypatch.chdir(tmp_path)

    def run(name, given, *words):
        text = given if isinstance(given, str) else written(name, given)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return answer_of(capsys, "pyscale", "stage", "import", name, *words)

    return run


def without(given, key):
    return {name: value for name, value in given.items() if name != key}


@pytest.mark.parametrize(("name", "given"), EVERY.items())
def test_a_suite_that_was_written_is_one(imported, tmp_path, name, given):
    told = imported(name, given, "--output", "mine/suite.toml")
    assert (told.code, told.out) == (0, "")
    assert load_suite(str(tmp_path / "mine" / "suite.toml")).stages
    again = imported(name, given, "--output", "mine/suite.toml")
    assert_refused(again)


BOMB = "a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
ODD = "é \x7f \" \\ \t {x} 'q' 🙂"


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("a.yaml", "a: ["),
        ("a.yaml", ""),
        ("a.yaml", "- 1"),
        ("a.yaml", "a: 1"),
        ("a.yaml", BOMB),
        ("a.yaml", "a: !!python/object/apply:os.system [ls]"),
        ("a.yaml", "[" * 5000),
        ("a.yaml", "a: {" * 20_000),
        ("a.yaml", "a: 2020-13-45"),
        ("a.yaml", 'a: "\\ud800"'),
        ("a.yaml", "x" * 300_000),
        ("a.cwl", CWL | {"class": "Workflow"}),
        ("a.cwl", {"cwlVersion": "v1.2", "$graph": []}),
        ("a.cwl", {**CWL, "baseCommand": [], "arguments": []}),
        ("a.cwl", CWL | {"inputs": {}}),
        ("a.cwl", CWL | {"inputs": "a"}),
        ("a.cwl", CWL | {"inputs": [{"type": "File"}]}),
        ("a.cwl", CWL | {"arguments": ["${return 1;}"]}),
        ("a.cwl", CWL | {"arguments": ["$(inputs.nix)"]}),
        ("a.yaml", BILAYERS | {"exec_function": {}}),
        ("a.yaml", BILAYERS | {"exec_function": {"cli_command": "a 'b"}}),
        ("a.yaml", BILAYERS | {"inputs": []}),
        ("a.yaml", BILAYERS | {"inputs": {"a": 1}}),
        ("a.yaml", BILAYERS | {"parameters": []}),
        ("a.json", without(CYTOMINE, "command-line")),
        ("a.json", CYTOMINE | {"command-line": ""}),
        ("a.json", json.dumps(CYTOMINE | {"name": "\ud800"})),
    ],
    ids=[
        "is not plain YAML",
        "holds no mapping",
        "holds no mapping 2",
        "is no description that is known",
        "has an alias",
        "is not plain YAML 2",
        "is not plain YAML 3",
        "more than 5000 brackets",
        "is not plain YAML 4",
        "is not plain YAML 5",
        "has more than 262144 bytes",
        "of class Workflow: import each",
        "a packed document",
        "baseCommand is missing",
        "no input is a File or Directory",
        "inputs should be a mapping or a",
        "one of the inputs has no id",
        "must be evaluated by a CWL",
        "names no input",
        "exec_function.cli_command is",
        "is not a command line",
        "no input has a cli_tag",
        "inputs should be a list of",
        "names where it writes",
        "command-line is missing",
        "command-line is missing 2",
        "surrogates not allowed",
    ],
)
def test_what_no_step_can_be_made_of_is_refused_in_a_sentence(imported, name, given):
    told = imported(name, given)
    assert told.out == ""
    assert_refused(told)
    assert told.err.count("\n") == 1


def test_odd_letters_stay_as_they_are(imported):
    given = json.loads(json.dumps(CYTOMINE))
    given["name"] = ODD
    given["inputs"][1]["default-value"] = ODD
    told = imported("descriptor.json", given)
    (entry,) = tomllib.loads(told.out)["stages"].values()
    assert entry["params"] == {"radius": ODD}


@pytest.mark.parametrize("path", ["nix.yaml", "."])
def test_what_cannot_be_read_is_told(tmp_path, monkeypatch, capsys, path):
    monkeypatch.chdir(tmp_path)
    told = answer_of(capsys, "pyscale", "stage", "import", path)
    assert_refused(told)
