import sys

import polars as pl
import pytest

from refusals import assert_held

FRAMES = """\
import sys, tifffile
frames = tifffile.imread(sys.argv[1])[int(sys.argv[3]) : int(sys.argv[4])]
tifffile.imwrite(sys.argv[2], frames, photometric="minisblack")
"""
ROWS = """\
import sys
first, stop = map(int, sys.argv[3:])
between = "\\t" if sys.argv[2].endswith("tsv") else ","
rows = "".join(f"{frame - first}{between}{frame * 0.5}\\n" for frame in range(first, stop))
open(sys.argv[2], "w").write(f"frame{between}size\\n" + (rows if first else ""))
"""
FILES = """\
import sys
for frame in range(*map(int, sys.argv[3:])):
    open(f"{sys.argv[2]}/{frame}.txt", "w").write(str(frame))
"""
WINDOWS = ((0, 3), (3, 4), (4, 6))


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv"])
def test_tables_are_appended_and_frames_counted_on(step, tmp_path, name):
    step.merged(tmp_path, WINDOWS, ROWS, output=name, offset="frame")
    table = pl.read_csv(tmp_path / "merged" / name, separator="\t" if name.endswith("tsv") else ",")
    # The first window found nothing.
    assert table["frame"].to_list() == [3, 4, 5]
    assert table["size"].to_list() == [1.5, 2.0, 2.5]


@pytest.mark.parametrize(
    ("program", "warned"), [(ROWS, ["frames-anew"]), (ROWS.replace("frame - first", "frame"), [])]
)
def test_frames_that_begin_anew_in_each_table_are_warned_of(step, tmp_path, program, warned):
    joined = step.merged(tmp_path, WINDOWS, program, output="rows.csv")
    assert [one.code for one in joined.warned] == warned


def test_frames_in_tables_of_files_are_those_of_each_file(step, tmp_path):
    (tmp_path / "files").mkdir()
    for name in "abcdef":
        (tmp_path / "files" / name).touch()
    rows = "import sys; open(sys.argv[2], 'w').write('frame,size\\n0,1.5\\n')"
    keys = {"split": "files", "output": "rows.csv", "inputs": [tmp_path / "files"]}
    parts = [tmp_path / f"w{first}" for first, _ in WINDOWS]
    for part, window in zip(parts, WINDOWS, strict=True):
        step.done(rows, "{files} {output}", frames=window, into=part, **keys)
    keys["inputs"] = parts
    assert not step.done(rows, "{files} {output}", verb="merge", **keys).warned


def test_a_command_of_ones_own_joins(step, tmp_path):
    joins = "import sys; open(sys.argv[-1], 'w').write(str(len(sys.argv) - 2))"
    (tmp_path / "join.py").write_text(joins)
    merge = "python3 join.py {inputs} {output}"
    step.merged(tmp_path, WINDOWS, ROWS, merge=merge, output="rows.json")
    assert (tmp_path / "merged" / "rows.json").read_text() == "3"


@pytest.mark.parametrize(
    ("program", "keys"),
    [
        (ROWS, {"output": "rows.csv", "offset": "fram"}),
        (ROWS.replace("}size", "}size{first}"), {"output": "rows.csv"}),
        (FRAMES.replace("frames, photo", "frames[..., : 9 + int(sys.argv[3])], photo"), {}),
        (FILES.replace("{frame}.txt", "same.txt"), {"output": "crops"}),
    ],
    ids=["an absent column", "other columns", "other sizes", "one name"],
)
def test_what_cannot_be_joined_is_told(step, tmp_path, program, keys):
    assert_held(step.merged(tmp_path, WINDOWS, program, done=False, **keys))


def test_a_shell_joins_what_has_odd_names(step, tmp_path):
    folder = tmp_path / "my $HOME, 'new'"
    folder.mkdir()
    prints = f"{sys.executable} program.py {{input}} {{output}} {{first}} {{stop}}"
    keys = {"shell": True, "command": prints, "output": "rows.json"}
    result = step.merged(folder, WINDOWS, ROWS, merge="cat {inputs} > {output}", **keys)
    assert (folder / "merged" / "rows.json").read_text().count("frame,size") == 3
    assert [span.phase for span in result.spans].count("compute") == 0
