"""Descriptions of tools, of which no step can be made or whose suite is written to a file."""

import json
import tomllib

import pytest

from commandline import answer_of
from describedtools import BILAYERS, CWL, CYTOMINE, EVERY, written
from pyscale.planning.suite import load_suite


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
    assert again.code == 2
    assert "is there already" in again.err


BOMB = "a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
ODD = "é \x7f \" \\ \t {x} 'q' 🙂"


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("a.yaml", "a: [", "is not plain YAML"),
        ("a.yaml", "", "holds no mapping"),
        ("a.yaml", "- 1", "holds no mapping"),
        ("a.yaml", "a: 1", "is no description that is known"),
        ("a.yaml", BOMB, "has an alias"),
        ("a.yaml", "a: !!python/object/apply:os.system [ls]", "is not plain YAML"),
        ("a.yaml", "[" * 5000, "is not plain YAML"),
        ("a.yaml", "a: {" * 20_000, "more than 5000 brackets"),
        ("a.yaml", "a: 2020-13-45", "is not plain YAML"),
        ("a.yaml", 'a: "\\ud800"', "is not plain YAML"),
        ("a.yaml", "x" * 300_000, "has more than 262144 bytes"),
        ("a.cwl", CWL | {"class": "Workflow"}, "of class Workflow: import each CommandLineTool"),
        ("a.cwl", {"cwlVersion": "v1.2", "$graph": []}, "a packed document"),
        ("a.cwl", {**CWL, "baseCommand": [], "arguments": []}, "baseCommand is missing"),
        ("a.cwl", CWL | {"inputs": {}}, "no input is a File or Directory"),
        ("a.cwl", CWL | {"inputs": "a"}, "inputs should be a mapping or a list"),
        ("a.cwl", CWL | {"inputs": [{"type": "File"}]}, "one of the inputs has no id"),
        ("a.cwl", CWL | {"arguments": ["${return 1;}"]}, "must be evaluated by a CWL runner"),
        ("a.cwl", CWL | {"arguments": ["$(inputs.nix)"]}, "names no input"),
        ("a.yaml", BILAYERS | {"exec_function": {}}, "exec_function.cli_command is missing"),
        ("a.yaml", BILAYERS | {"exec_function": {"cli_command": "a 'b"}}, "is not a command line"),
        ("a.yaml", BILAYERS | {"inputs": []}, "no input has a cli_tag"),
        ("a.yaml", BILAYERS | {"inputs": {"a": 1}}, "inputs should be a list of mappings"),
        ("a.yaml", BILAYERS | {"parameters": []}, "names where it writes"),
        ("a.json", without(CYTOMINE, "command-line"), "command-line is missing"),
        ("a.json", CYTOMINE | {"command-line": ""}, "command-line is missing"),
        ("a.json", json.dumps(CYTOMINE | {"name": "\ud800"}), "surrogates not allowed"),
    ],
)
def test_what_no_step_can_be_made_of_is_refused_in_a_sentence(imported, name, given, why):
    told = imported(name, given)
    assert (told.code, told.out) == (2, "")
    assert why in told.err
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
    assert told.code == 2
    assert f"{path} cannot be read" in told.err
