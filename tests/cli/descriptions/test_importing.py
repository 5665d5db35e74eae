"""Descriptions of tools become suites of one step, and say what of them was not understood."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from commandline import Answer, answer_of
from describedtools import BILAYERS, CWL, CYTOMINE, EVERY, written
from pyscale.suite import load_suite


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    """Write a description, or its text, and import it."""
    monkeypatch.chdir(tmp_path)

    def run(name: str, given: object, *words: str) -> Answer:
        text = given if isinstance(given, str) else written(name, given)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return answer_of(capsys, "pyscale", "stage", "import", name, *words)

    return run


def without(given: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != key}


def entry_of(told: Answer) -> dict[str, Any]:
    assert told.code == 0, told.err
    (entry,) = tomllib.loads(told.out)["stages"].values()
    return dict(entry)


def test_an_algorithm_of_bilayers(imported):
    told = imported("config.yaml", BILAYERS)
    entry = entry_of(told)
    assert entry["command"] == [
        *("python", "-m", "edges", "--of these", "--dir", "{input}", "--save", "{output}"),
        *("--sigma", "{params.sigma}", "--thin", "--merge", "{params.merge_}"),
        *("--axis", "{params.axis}", "--quiet", "--as", "{{tif}}"),
    ]
    # A parameter with the name of a key of steps has another one, and a label its value.
    assert entry["params"] == {"sigma": 2.5, "merge_": 0}
    assert (entry["split"], entry["image"]) == ("threads", "edges_1.2.sif")
    for sentence in (
        'called once for all of the data, on N cores (split = "threads")',
        "left out, as optional or off: model, fat and mask",
        "axis has no default: set it by --set find_edges.axis=VALUE",
        "apptainer pull edges_1.2.sif docker://lab/edges:1.2",
        "not understood: many takes several values, and is left out",
    ):
        assert sentence in told.err


def test_one_image_at_a_time_is_a_call_for_each_file(imported):
    inputs = [{**BILAYERS["inputs"][1], "file_count": "single", "default": "single"}]
    told = imported("config.yaml", BILAYERS | {"inputs": inputs})
    assert "{file}" in entry_of(told)["command"]
    assert tomllib.loads(told.out)["data"] == "files"


def test_a_descriptor_of_biaflows(imported):
    told = imported("descriptor.json", CYTOMINE)
    entry = entry_of(told)
    assert entry["command"] == [
        *("python", "wrapper.py", "--radius", "{params.radius}"),
        *("--infolder", "{input}", "--outfolder", "{output}", "--local", "-nmc"),
    ]
    assert tomllib.loads(told.out)["summary"] == "Finds nuclei"
    assert "so the words of BIAFLOWS without its server were added" in told.err
    assert "what its server sets is left out: cytomine_host" in told.err


def test_a_descriptor_that_names_its_image_and_output_needs_no_convention(imported):
    given = CYTOMINE | {
        "command-line": "[IMAGE] [OUT]",
        "inputs": [{"id": "image", "type": "image", "value-key": "[@ID]"}],
        "outputs": [{"id": "out", "type": "file", "value-key": "[@ID]"}],
    }
    told = imported("descriptor.json", given)
    assert entry_of(told)["command"] == ["/.singularity.d/runscript", "{file}", "{output}"]
    assert "names no program" in told.err


def test_a_tool_of_cwl(imported):
    told = imported("blur.cwl", CWL)
    entry = entry_of(told)
    assert entry["command"] == [
        *("blur", "--fast", "-o", "{output}/{name}.tif", "--sigma={params.sigma}", "--thin"),
        *("{file}", "-t", "{threads}"),
    ]
    assert (entry["params"], entry["image"]) == ({"sigma": 1.5}, "blur_3.sif")
    assert "left out, as optional or off: verbose, extra and unbound" in told.err


OF_FILE = "-o {params.out_name} --sigma={params.sigma} --thin {file} -t {threads}"
OF_FOLDER = {
    "inputs": [
        {"id": "#main/dir", "type": "Directory", "inputBinding": {}},
        {"id": "a-b", "type": "int", "default": 3, "inputBinding": {"prefix": "it's"}},
    ],
    "arguments": ["a b", "$(inputs.dir.path)/x{1}"],
}


@pytest.mark.parametrize(
    ("changed", "command"),
    [
        (
            {"outputs": {"b": "stdout"}, "stdout": "b.csv"},
            f"blur --fast {OF_FILE} > {{output}}/{{name}}.csv",
        ),
        (
            {"outputs": [{"id": "b", "type": "File", "outputBinding": {"glob": "*.tif"}}]},
            f"mkdir -p {{output}}/{{name}} && cd {{output}}/{{name}} && blur --fast {OF_FILE}",
        ),
        (
            OF_FOLDER | {"outputs": []},
            "mkdir -p {output} && cd {output} && blur --fast 'a b' {input}/x{{1}} "
            "'it'\"'\"'s' {params.a_b} {input}",
        ),
    ],
)
def test_what_a_tool_of_cwl_leaves_where_it_runs_is_its_output(imported, changed, command):
    entry = entry_of(imported("blur.cwl", CWL | changed))
    assert entry["shell"] is True
    assert entry["command"] == command


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
    assert entry_of(told)["params"] == {"radius": ODD}


@pytest.mark.parametrize("path", ["nix.yaml", "."])
def test_what_cannot_be_read_is_told(tmp_path, monkeypatch, capsys, path):
    monkeypatch.chdir(tmp_path)
    told = answer_of(capsys, "pyscale", "stage", "import", path)
    assert told.code == 2
    assert f"{path} cannot be read" in told.err
