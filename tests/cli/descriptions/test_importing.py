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
        pytest.param("a.yaml", "a: [", id="is not plain YAML"),
        pytest.param("a.yaml", "", id="holds no mapping"),
        pytest.param("a.yaml", "- 1", id="holds no mapping 2"),
        pytest.param("a.yaml", "a: 1", id="is no description that is known"),
        pytest.param("a.yaml", BOMB, id="has an alias"),
        pytest.param("a.yaml", "a: !!python/object/apply:os.system [ls]", id="is not plain YAML 2"),
        pytest.param("a.yaml", "[" * 5000, id="is not plain YAML 3"),
        pytest.param("a.yaml", "a: {" * 20_000, id="more than 5000 brackets"),
        pytest.param("a.yaml", "a: 2020-13-45", id="is not plain YAML 4"),
        pytest.param("a.yaml", 'a: "\\ud800"', id="is not plain YAML 5"),
        pytest.param("a.yaml", "x" * 300_000, id="has more than 262144 bytes"),
        pytest.param("a.cwl", CWL | {"class": "Workflow"}, id="of class Workflow: import each"),
        pytest.param("a.cwl", {"cwlVersion": "v1.2", "$graph": []}, id="a packed document"),
        pytest.param(
            "a.cwl", {**CWL, "baseCommand": [], "arguments": []}, id="baseCommand is missing"
        ),
        pytest.param("a.cwl", CWL | {"inputs": {}}, id="no input is a File or Directory"),
        pytest.param("a.cwl", CWL | {"inputs": "a"}, id="inputs should be a mapping or a"),
        pytest.param(
            "a.cwl", CWL | {"inputs": [{"type": "File"}]}, id="one of the inputs has no id"
        ),
        pytest.param(
            "a.cwl", CWL | {"arguments": ["${return 1;}"]}, id="must be evaluated by a CWL"
        ),
        pytest.param("a.cwl", CWL | {"arguments": ["$(inputs.nix)"]}, id="names no input"),
        pytest.param("a.yaml", BILAYERS | {"exec_function": {}}, id="exec_function.cli_command is"),
        pytest.param(
            "a.yaml",
            BILAYERS | {"exec_function": {"cli_command": "a 'b"}},
            id="is not a command line",
        ),
        pytest.param("a.yaml", BILAYERS | {"inputs": []}, id="no input has a cli_tag"),
        pytest.param("a.yaml", BILAYERS | {"inputs": {"a": 1}}, id="inputs should be a list of"),
        pytest.param("a.yaml", BILAYERS | {"parameters": []}, id="names where it writes"),
        pytest.param("a.json", without(CYTOMINE, "command-line"), id="command-line is missing"),
        pytest.param("a.json", CYTOMINE | {"command-line": ""}, id="command-line is missing 2"),
        pytest.param(
            "a.json", json.dumps(CYTOMINE | {"name": "\ud800"}), id="surrogates not allowed"
        ),
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
