import pytest
from pydantic import ValidationError

from pyscale_stages.command.params import CommandParams, method

GOOD = "segment {input} {output} {first}:{stop}"


TILED = {"split": "tiles", "tile_px": 20, "margin_px": 4}
REGION = "segment {input} {output} {y0} {y1} {x0} {x1}"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (
            {"command": "segment {inptu} {output}"},
            "unknown placeholder {inptu} in the command; did you mean 'inp",
        ),
        ({"command": "segment {output}"}, "never names what it reads: use {input}"),
        ({"command": "segment {input}"}, "never names where it writes: use {output}"),
        ({"command": "segment {input} {output"}, "a brace without a partner"),
        ({"command": "segment {input} {output:3}"}, "a placeholder is a name alone"),
        ({"command": "segment 'a {input} {output}"}, "is not a command line"),
        ({"command": ""}, "at least 1 item"),
        ({"diamter": 3}, "the command names no {params.diamter}"),
        ({"command": f"{GOOD} {{params.diameter}}"}, "unknown placeholder {params.diameter}"),
        ({"command": f"{GOOD} {{file}}"}, "unknown placeholder {file}"),
        ({"command": f"{GOOD} {{rank}}"}, "unknown placeholder {rank}"),
        ({"command": "a {file} {files} {output}", "split": "files"}, "a list, or one file"),
        ({"command": "a {output}", "split": "files"}, "use {file} and {files}"),
        ({"command": "a {file} {output}", "split": "files", "window": "file"}, "cuts frames"),
        ({"output": "a.csv", "check": "labels"}, "compares label images, and not"),
        ({"output": "cells.json"}, "nothing says how windows of cells.json"),
        ({"output": "../cells.tif"}, "should match pattern"),
        ({"merge": "frame"}, "did you mean 'frames'"),
        ({"image": "docker://a/b"}, "apptainer pull mine.sif docker://a/b"),
        ({"image": "a.sif", "packages": ["fftw"]}, "is known by its checksum: leave packages out"),
        ({"image": "a.sif", "modules": ["tool"]}, "modules are not seen in an image"),
        *(({"modules": [name]}, "modules") for name in ("-f", "a b", "$(touch x)", "")),
        ({"check": "label"}, "did you mean 'labels'"),
        ({"check": "judge {other}"}, "names {other} and {reference}"),
        ({"merge": "join {inputs}"}, "names {inputs} and {output}"),
        ({"merge": "join {inputs} {output} {n}"}, "unknown placeholder {n}"),
        (
            TILED | {"command": "a {input} {output}"},
            "never names its region: use {x0} and {x1} and {y0} and {y1}",
        ),
        (TILED | {"command": REGION, "offset": "frame", "output": "a.csv"}, "offset counts frames"),
        ({"command": REGION}, "unknown placeholder {x0}"),
        (TILED | {"split": "frames"}, 'are of tiles: add split = "tiles"'),
        (TILED | {"command": REGION, "tile_px": 4}, "tile_px"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(keys, words):
    with pytest.raises(ValidationError) as refused:
        CommandParams(**({"command": GOOD} | keys))
    assert words in str(refused.value)


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


def test_a_text_becomes_words_and_with_a_shell_stays_one():
    text = "a '{input} b' {output} | c"
    assert CommandParams(command=text).command == ("a", "{input} b", "{output}", "|", "c")
    assert CommandParams(command=text, shell=True).command == (text,)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/opt/python -u /home/me/segment.py {input} {output}", "own step, segment.py"),
        ("/usr/bin/magick {input} {output}", "own step, magick"),
    ],
)
def test_a_step_is_called_by_its_script_or_its_program(command, name):
    assert method(CommandParams(command=command), "cpu").name == name
