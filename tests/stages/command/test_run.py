import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil
import pytest
import tifffile

from pyscale_stages.command import outside, process
from pyscale_stages.hashing import sha256_of
from pyscale_stages.task import WINDOW_FILE
from pyscale_stages.windows import read_window

COPIES = """\
import sys, tifffile
source, out, first, stop = sys.argv[1:5]
frames = tifffile.imread(source)[int(first) : int(stop)]
tifffile.imwrite(out, frames, photometric="minisblack")
"""
SAYS = """\
import os, sys, tifffile
print("::phase read", file=sys.stderr)
frames = tifffile.imread(sys.argv[1])[:4]
print("::phase compute", file=sys.stderr)
print("::phase thinking", file=sys.stderr)
print("::metric bright=3 unit=px better=higher over=mean", file=sys.stderr)
print("::metric bri", file=sys.stderr)
print("::phase write", file=sys.stderr)
tifffile.imwrite(sys.argv[2], frames)
"""


def assert_frames(path, expected):
    assert np.array_equal(tifffile.imread(path), expected)


def test_a_window_is_told_by_its_frames_and_the_script_by_its_checksum(step, movie, tmp_path):
    result = step.done(COPIES, frames=(2, 5))
    assert_frames(tmp_path / "out" / "output.tif", tifffile.imread(movie)[2:5])
    assert read_window(tmp_path / "out").frames == (2, 5)
    assert result.counters.frames == 3
    assert {output.name for output in result.outputs} == {"output.tif", WINDOW_FILE}
    assert result.versions["program.py"] == f"sha256 {sha256_of(tmp_path / 'program.py')[:12]}"
    # What is there already is not taken for output.
    step.refused(COPIES, frames=(2, 5))


def test_a_window_that_is_not_named_is_a_file_of_its_own(step, movie, tmp_path):
    step.done(COPIES, "{input} {output} 0 {frames}", frames=(2, 5))
    assert_frames(tmp_path / "out" / "output.tif", tifffile.imread(movie)[2:5])


PLAIN = COPIES.replace(', photometric="minisblack"', "")


@pytest.mark.parametrize("cut", [2, 3])
def test_windows_saved_as_colours_are_joined_to_the_movie(step, movie, tmp_path, cut):
    folders = [tmp_path / "w0", tmp_path / "w1"]
    for folder, window in zip(folders, [(0, cut), (cut, 6)], strict=True):
        step.done(PLAIN, frames=window, into=folder)
    step.done(PLAIN, verb="merge", inputs=folders)
    assert_frames(tmp_path / "out" / "output.tif", tifffile.imread(movie))
    assert step.done(PLAIN, verb="check", inputs=[folders[0]] * 2).agreement.same


def test_colours_of_another_number_than_the_frames_and_too_many_frames_are_refused(step):
    step.refused(PLAIN, "{input} {output} 0 4", frames=(0, 6))
    opened = {"frames": (0, 3), "into": step.folder / "all", "window": "whole"}
    step.refused(COPIES, "{input} {output} 0 6", **opened)
    step.refused(COPIES, "{input} {output} 0 2", frames=(0, 3), into=step.folder / "few")
    unnamed = COPIES.replace("frames, photo", "frames[:, None, None], photo")
    step.refused(unnamed, frames=(0, 4), into=step.folder / "unnamed")


def test_phases_and_numbers_that_a_program_tells_are_in_the_record(step):
    result = step(SAYS)
    own = [span.phase for span in result.spans]
    assert own[-5:] == ["import", "read", "compute", "write", "write"]
    assert all(
        before.end_monotonic_s <= after.start_monotonic_s
        for before, after in pairwise(result.spans)
    )
    told = {"name": "bright", "value": 3.0, "unit": "px", "better": "higher", "over": "mean"}
    assert [one.model_dump(exclude={"means"}) for one in result.measured] == [told]
    sentences = {warning.code: warning.sentence for warning in result.warned}
    assert set(sentences) == {"unknown-phase", "unread-metric"}
    assert len(result.warned) == 2
    assert (
        "'::metric bri', which names no number: it is not name=number"
        in (sentences["unread-metric"])
    )


def test_a_program_that_names_no_phase_starts_up_until_it_opens_its_input(
    step, tmp_path, monkeypatch
):
    seen = tmp_path / "seen"
    os.mkfifo(seen)

    class Seen(outside.FirstOpen):
        def is_of(self, session):
            if found := super().is_of(session):
                seen.write_bytes(b"")
            return found

    monkeypatch.setattr(process, "FirstOpen", Seen)
    # It holds its input until it has been seen, however late that is.
    holds = f"held = open(sys.argv[1]); open({str(seen)!r}).read()"
    result = step(f"import sys, time; time.sleep(0.3); {holds}\n{COPIES}")
    *_, start_up, computing, writing = result.spans
    assert [start_up.phase, computing.phase, writing.phase] == ["import", "compute", "write"]
    assert start_up.end_monotonic_s - start_up.start_monotonic_s >= 0.3
    assert not result.warned


def test_a_program_that_never_opens_its_input_is_warned_of(step):
    result = step(
        "import sys; open(sys.argv[1], 'w').write('a')", "{output} {input}", output="a.csv"
    )
    assert [(one.code, one.sentence) for one in result.warned] == [
        ("input-unread", "the command never opened its input: see `pyscale status --log`")
    ]


def test_nothing_is_warned_of_where_the_kernel_does_not_watch_the_input(step, monkeypatch):
    # The kernel refuses to watch for no event at all, as it does where its watches are used up.
    monkeypatch.setattr(outside, "IN_OPEN", 0)
    result = step.done(COPIES)
    assert not result.warned


def test_phases_and_numbers_can_be_told_by_a_file(step):
    tells = """
import json, os, time
from pyscale_stages import metric, phase
with phase("read"):
    frames = sys.argv[1]
with phase("thinking"):
    pass
with phase("write"):
    metric("bright", 3, unit="px", over="mean")
with open(os.environ["PYSCALE_SPANS"], "a") as file:
    file.write('{"metric": "half"}\\n{"phase": "re')
"""
    result = step(COPIES + tells)
    assert [span.phase for span in result.spans][-6:] == [
        *("import", "read", "compute", "write", "compute", "write")
    ]
    (number,) = result.measured
    assert (number.name, number.value, number.unit, number.over) == ("bright", 3, "px", "mean")
    assert [warning.code for warning in result.warned] == [
        *("unread-metric", "unread-metric", "unknown-phase")
    ]
    assert "neither a phase nor a number: key 'value' is missing" in result.warned[0].sentence


def test_words_with_blanks_dollars_and_quotes_stay_as_they_are(step, tmp_path):
    odd = "a 'b' \"c\" $HOME ; {x} *"
    says = "import sys; open(sys.argv[1], 'w').write(sys.argv[2] + sys.argv[3][:0])"
    step.done(says, "{output} {params.odd} {input}", odd=odd, output="said.csv")
    assert (tmp_path / "out" / "said.csv").read_text() == odd


def test_a_shell_runs_pipes_and_quotes_what_is_filled_in(step, tmp_path):
    odd = "a'b $HOME"
    command = "printf %s {params.odd} | tr a-z A-Z > {output}; test -e {input}"
    step.done("", command=command, shell=True, odd=odd, output="said.csv")
    assert (tmp_path / "out" / "said.csv").read_text() == odd.upper()


def test_each_file_of_a_share_has_a_call_of_its_own(step, tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    for number in range(12):
        (folder / f"im{number}.txt").write_text(str(number))
    copies = "import shutil, sys; shutil.copy(*sys.argv[1:])"
    keys = {"split": "files", "inputs": [folder], "movie_frames": 12}
    step.done(copies, "{file} {output}/{name}.txt", frames=(1, 4), **keys)
    # In the order of their numbers.
    assert {path.name for path in (tmp_path / "out" / "output").iterdir()} == {
        "im1.txt",
        "im2.txt",
        "im3.txt",
    }
    lists = "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2] + '/list.txt')"
    step(lists, "{files} {output}", frames=(10, 12), into=tmp_path / "out2", **keys)
    told = (tmp_path / "out2" / "output" / "list.txt").read_text().splitlines()
    assert [Path(line).name for line in told] == ["im10.txt", "im11.txt"]


SPEAKS = """\
import os, time
until = time.monotonic() + 3
while time.monotonic() < until:
    os.write(2, b"word\\n")
"""


def test_a_program_that_speaks_without_pause_is_ended_in_time(step):
    step.refused(SPEAKS, at_most_s=0.5)


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("import sys; sys.exit(3)", id="failed with exit code 3"),
        pytest.param("1/0", id="its last lines"),
        pytest.param("import os; os.kill(os.getpid(), 9)", id="was killed by SIGKILL"),
        pytest.param("", id="left nothing at output.tif"),
        pytest.param("import sys; open(sys.argv[2], 'w')", id="left nothing"),
        pytest.param("import sys; open(sys.argv[2], 'w').write('no')", id="is no movie"),
        pytest.param("open('output.tif', 'w').write('x')", id="there is output.tif, which is"),
        pytest.param(COPIES.replace("int(stop)", "3"), id="wrote 3 frames to output.tif"),
        pytest.param("import time; time.sleep(99)", id="took longer than 1 s"),
    ],
)
def test_a_program_that_fails_is_told_in_a_sentence(step, program):
    keys = {"at_most_s": 1} if "sleep" in program else {}
    assert "\n" not in step.refused(program, **keys)


@pytest.mark.parametrize(
    "command",
    [
        "no-such-program {input} {output}",
        "./program.py {input} {output}",
        "cp {input} {output} \0",
    ],
)
def test_a_program_that_cannot_start_is_told_with_the_remedy(step, command):
    step.refused("", command=command)


def test_a_program_runs_in_its_environment(step, tmp_path):
    bin_folder = tmp_path / "env" / "bin"
    bin_folder.mkdir(parents=True)
    tool = bin_folder / "tool"
    tool.write_text('#!/bin/sh\nprintf %s "$VIRTUAL_ENV" > "$2"\n')
    tool.chmod(0o755)
    keys = {"command": "tool {input} {output}", "output": "said.csv"}
    step.done("", environment=str(tmp_path / "env"), **keys)
    assert (tmp_path / "out" / "said.csv").read_text() == str(tmp_path / "env")
    step.refused("", environment=str(tmp_path), into=tmp_path / "out2", **keys)


def test_what_outlives_the_program_is_ended_and_told(step, tmp_path):
    forks = COPIES + (
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
    )
    result = step.done(forks)
    assert [warning.code for warning in result.warned] == ["left-running"]
    pid = int((tmp_path / "pid").read_text())
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_call_that_overwrites_what_another_left_is_found(step, tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt").write_text("x")
    copies = "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2] + '/same.txt')"
    keys = {"split": "files", "inputs": [folder], "frames": (0, 3), "movie_frames": 3}
    step.refused(copies, "{file} {output}", **keys)


def test_threads_workers_and_seed_reach_the_program(step, tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, "OMP_NUM_THREADS", "7")
    says = (
        "import os, sys\n"
        "words = [*sys.argv[3:], os.environ['OMP_NUM_THREADS']]\n"
        "open(sys.argv[2], 'w').write(' '.join(words))"
    )
    step(says, "{input} {output} {threads} {workers} {seed} {device}", output="said.csv")
    assert (tmp_path / "out" / "said.csv").read_text() == "1 1 0 cpu 7"
