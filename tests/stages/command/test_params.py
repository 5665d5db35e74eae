import pytest
from pydantic import ValidationError

from pyscale_stages.command.params import CommandParams
from pyscale_stages.wording import first_problem
from refusals import assert_held

GOOD = "segment {input} {output} {first}:{stop}"


TILED = {"split": "tiles", "tile_px": 20, "margin_px": 4}
REGION = "segment {input} {output} {y0} {y1} {x0} {x1}"


@pytest.mark.parametrize(
    "keys",
    [
        {"command": "segment {inptu} {output}"},
        {"command": "segment {output}"},
        {"command": "segment {input}"},
        {"command": "segment {input} {output"},
        {"command": "segment {input} {output:3}"},
        {"command": "segment 'a {input} {output}"},
        {"command": ""},
        {"diamter": 3},
        {"command": f"{GOOD} {{params.diameter}}"},
        {"command": f"{GOOD} {{file}}"},
        {"command": f"{GOOD} {{rank}}"},
        {"command": "a {file} {files} {output}", "split": "files"},
        {"command": "a {output}", "split": "files"},
        {"command": "a {file} {output}", "split": "files", "window": "file"},
        {"output": "a.csv", "check": "labels"},
        {"output": "cells.json"},
        {"output": "../cells.tif"},
        {"merge": "frame"},
        {"image": "docker://a/b"},
        {"image": "a.sif", "packages": ["fftw"]},
        {"image": "a.sif", "modules": ["tool"]},
        *({"modules": [name]} for name in ("-f", "a b", "$(touch x)", "")),
        {"check": "label"},
        {"check": "judge {other}"},
        {"merge": "join {inputs}"},
        {"merge": "join {inputs} {output} {n}"},
        TILED | {"command": "a {input} {output} {x0}"},
        TILED | {"command": REGION, "offset": "frame", "output": "a.csv"},
        {"command": REGION},
        TILED | {"split": "frames"},
        TILED | {"command": REGION, "tile_px": 4},
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(keys):
    with pytest.raises(ValidationError) as refused:
        CommandParams(**({"command": GOOD} | keys))
    assert_held(first_problem(refused.value, CommandParams))


@pytest.mark.parametrize(
    ("keys", "is_cut"),
    [
        ({"command": "a {input} {output}"}, True),
        ({"command": "a {input} {output} {frames}"}, True),
        ({}, False),
        ({"window": "file"}, True),
        ({"command": "a {input} {output}", "window": "whole"}, False),
        (TILED | {"command": "a {input} {output} {tile}"}, True),
        (TILED | {"command": REGION}, False),
        ({"command": "a {input} {output}", "split": "none"}, False),
        ({"command": "a {file} {output}", "split": "files"}, False),
    ],
)
def test_a_command_that_does_not_name_its_window_is_given_a_file_of_it(keys, is_cut):
    assert CommandParams(**({"command": GOOD} | keys)).is_cut == is_cut


@pytest.mark.parametrize(
    ("keys", "output", "joined"),
    [
        ({}, "output.tif", "frames"),
        ({"output": "cells.CSV"}, "cells.CSV", "tables"),
        ({"output": "cells.parquet"}, "cells.parquet", "tables"),
        ({"output": "crops"}, "crops", "folder"),
        ({"output": "cells.json", "merge": "join {inputs} {output}"}, "cells.json", None),
        ({"split": "files", "command": "a {files} {output}"}, "output", "folder"),
        # Threads of one process leave one output.
        ({"split": "threads", "output": "cells.json"}, "cells.json", None),
    ],
)
def test_the_ending_of_the_output_says_how_windows_are_joined(keys, output, joined):
    params = CommandParams(**({"command": GOOD} | keys))
    assert (params.output_name, params.joined) == (output, joined)
