"""Made-up tools, as three formats describe them."""

import json

import yaml

BILAYERS = {
    "citations": [{"name": "Edges", "description": "Finds edges"}],
    "docker_image": {"org": "lab", "name": "edges", "tag": "1.2", "platform": "linux/amd64"},
    "algorithm_folder_name": "find_edges",
    "exec_function": {
        "name": "generate_cli_command",
        "cli_command": "python -m edges '--of these'",
        "hidden_args": [
            {"cli_tag": "--as", "value": "{tif}", "append_value": True, "cli_order": 9},
            {"cli_tag": "--quiet", "value": "True", "append_value": False},
        ],
    },
    "inputs": [
        {
            "name": "model",
            "type": "file",
            "cli_tag": "--model",
            "optional": True,
            "default": "single",
            "file_count": "single",
        },
        {
            "name": "images",
            "type": "image",
            "cli_tag": "--dir",
            "optional": False,
            "default": "directory",
            "file_count": "multiple",
        },
    ],
    "outputs": [{"name": "edges", "type": "image", "cli_tag": "None"}],
    "parameters": [
        {"name": "sigma", "type": "float", "default": 2.5, "cli_tag": "--sigma"},
        {"name": "thin", "type": "checkbox", "default": True, "cli_tag": "--thin"},
        {"name": "fat", "type": "checkbox", "default": False, "cli_tag": "--fat"},
        {
            "name": "merge",
            "type": "radio",
            "default": "Mean",
            "cli_tag": "--merge",
            "options": [{"label": "Mean", "value": 0}],
        },
        {"name": "mask", "default": "None", "optional": True, "cli_tag": "--mask"},
        {"name": "axis", "default": "None", "optional": False, "cli_tag": "--axis"},
        {"name": "dir", "default": "/o", "output_dir_set": True, "cli_tag": "--save"},
        {"name": "many", "type": "dropdown", "multiselect": True, "cli_tag": "--many"},
    ],
    "display_only": None,
}
CYTOMINE = {
    "name": "Find Nuclei",
    "description": "Finds\nnuclei",
    "schema-version": "cytomine-0.1",
    "container-image": {"image": "lab/w_find", "type": "singularity"},
    "command-line": "python wrapper.py CYTOMINE_HOST RADIUS LOG_LEVEL",
    "inputs": [
        {
            "id": "cytomine_host",
            "value-key": "@ID",
            "command-line-flag": "--@id",
            "set-by-server": True,
            "type": "String",
        },
        {
            "id": "radius",
            "value-key": "@ID",
            "command-line-flag": "--@id",
            "type": "Number",
            "default-value": 5,
            "optional": True,
        },
        {
            "id": "log_level",
            "value-key": "@ID",
            "command-line-flag": "--@id",
            "type": "String",
            "optional": True,
        },
    ],
}
CWL = {
    "cwlVersion": "v1.2",
    "class": "CommandLineTool",
    "label": "Blur",
    "baseCommand": ["blur", "--fast"],
    "hints": {"DockerRequirement": {"dockerPull": "lab/blur:3"}},
    "arguments": [{"prefix": "-t", "valueFrom": "$(runtime.cores)", "position": 5}],
    "inputs": {
        "image": {"type": "File", "inputBinding": {"position": 1}},
        "sigma": {
            "type": "float",
            "default": 1.5,
            "inputBinding": {"prefix": "--sigma=", "separate": False},
        },
        "out_name": {"type": "string", "default": "out.tif", "inputBinding": {"prefix": "-o"}},
        "verbose": {"type": "boolean?", "inputBinding": {"prefix": "-v"}},
        "thin": {"type": "boolean", "default": True, "inputBinding": {"prefix": "--thin"}},
        "extra": {"type": ["null", "string"], "inputBinding": {"prefix": "-e"}},
        "unbound": "string?",
    },
    "outputs": {"blurred": {"type": "File", "outputBinding": {"glob": "$(inputs.out_name)"}}},
}
EVERY = {"config.yaml": BILAYERS, "descriptor.json": CYTOMINE, "blur.cwl": CWL}
OF_A_FOLDER = {
    "inputs": [
        {"id": "#main/dir", "type": "Directory", "inputBinding": {}},
        {"id": "a-b", "type": "int", "default": 3, "inputBinding": {"prefix": "it's"}},
    ],
    "arguments": ["a b", "$(inputs.dir.path)/x{1}"],
}
VARIANTS = {
    "bilayers": ("config.yaml", BILAYERS),
    # One image at a time is a call for each file.
    "bilayers-single": (
        "config.yaml",
        BILAYERS
        | {"inputs": [BILAYERS["inputs"][1] | {"file_count": "single", "default": "single"}]},
    ),
    "biaflows": ("descriptor.json", CYTOMINE),
    # One that names its image and output needs no convention.
    "biaflows-named": (
        "descriptor.json",
        CYTOMINE
        | {
            "command-line": "[IMAGE] [OUT]",
            "inputs": [{"id": "image", "type": "image", "value-key": "[@ID]"}],
            "outputs": [{"id": "out", "type": "file", "value-key": "[@ID]"}],
        },
    ),
    "cwl": ("blur.cwl", CWL),
    # What a tool leaves where it runs is its output.
    "cwl-stdout": ("blur.cwl", CWL | {"outputs": {"b": "stdout"}, "stdout": "b.csv"}),
    "cwl-glob": (
        "blur.cwl",
        CWL | {"outputs": [{"id": "b", "type": "File", "outputBinding": {"glob": "*.tif"}}]},
    ),
    "cwl-folder": ("blur.cwl", CWL | OF_A_FOLDER | {"outputs": []}),
}
"""Files of tools, each by what it shows."""


def written(name, given):
    return json.dumps(given) if name.endswith(".json") else yaml.safe_dump(given, sort_keys=False)
