from __future__ import annotations

import pytest
from pydantic import ValidationError

from pyscale_stages.command.params import CommandParams, method

GOOD = "segment {input} {output} {first}:{stop}"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"command": "segment {inptu} {output}"}, "{inptu}, which there is not; did you mean 'inp"),
        ({"command": "segment {output}"}, "never names what it reads: use {input}"),
        ({"command": "segment {input}"}, "never names where it writes: use {output}"),
        ({"command": "segment {input} {output"}, "a brace without a partner"),
        ({"command": "segment {input} {output:3}"}, "a placeholder is a name alone"),
        ({"command": "segment 'a {input} {output}"}, "is no command line"),
        ({"command": ""}, "at least 1 item"),
        ({"command": GOOD, "diamter": 3}, "the command names no {params.diamter}"),
        ({"command": f"{GOOD} {{params.diameter}}"}, "{params.diameter}, which there is not"),
        ({"command": f"{GOOD} {{file}}"}, "{file}, which there is not"),
        ({"command": "a {file} {files} {output}", "split": "files"}, "a list, or one file"),
        ({"command": "a {output}", "split": "files"}, "use {file} and {files}"),
        ({"command": "a {file} {output}", "split": "files", "window": "file"}, "cuts frames"),
        ({"command": GOOD, "output": "a.csv", "check": "labels"}, "compares label images, and not"),
        ({"command": GOOD, "output": "cells.json"}, "nothing says how windows of cells.json"),
        ({"command": GOOD, "output": "../cells.tif"}, "should match pattern"),
        ({"command": GOOD, "merge": "frame"}, "did you mean 'frames'"),
        ({"command": GOOD, "image": "docker://a/b"}, "apptainer pull mine.sif docker://a/b"),
        ({"command": GOOD, "check": "label"}, "did you mean 'labels'"),
        ({"command": GOOD, "check": "judge {other}"}, "names {other} and {reference}"),
        ({"command": GOOD, "merge": "join {inputs}"}, "names {inputs} and {output}"),
        ({"command": GOOD, "merge": "join {inputs} {output} {n}"}, "{n}, which there is not"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(keys, words):
    with pytest.raises(ValidationError) as refused:
        CommandParams(**keys)
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
