import sys

import pytest

IMAGE = """\
import numpy, sys, tifffile
frames = numpy.zeros((4, 10, 10), "float32")
frames[0, 0, {n}] = {value}
tifffile.imwrite(sys.argv[2], frames, photometric="minisblack"{more})
"""
TABLE = """\
import sys
open(sys.argv[2], "w").write("cell,size\\na,1.0\\nb,{value}\\n")
"""


def compared(step, folder, first, second, **keys):
    for name, program in (("one", first), ("other", second)):
        step.done(program, into=folder / name, **keys)
    return step("", verb="check", inputs=[folder / "one", folder / "other"], **keys)


@pytest.mark.parametrize(
    ("value", "tolerance", "same", "score"),
    [(0.0, 0.0, True, 1.0), (0.25, 0.0, False, 0.9975), (0.25, 0.25, True, 1.0)],
)
def test_images_are_compared_by_pixels(step, tmp_path, value, tolerance, same, score):
    first = IMAGE.format(n=0, value=0.0, more="")
    second = IMAGE.format(n=0, value=value, more=", compression='zlib'")
    found = compared(step, tmp_path, first, second, tolerance=tolerance).agreement
    # The same pixels in other bytes are the same.
    assert (found.same, found.identical, found.score) == (same, False, score)
    assert found.details["largest_difference"] == value


@pytest.mark.parametrize(
    ("value", "tolerance", "score"),
    [("2.0", 0.0, 1.0), ("2.5", 0.0, 0.5), ("2.5", 0.5, 1.0), ("2.0\\nc,3.0", 0.0, 0.0)],
)
def test_tables_are_compared_by_rows(step, tmp_path, value, tolerance, score):
    first, second = (TABLE.replace("{value}", each) for each in ("2.0", value))
    keys = {"output": "cells.csv", "tolerance": tolerance}
    found = compared(step, tmp_path, first, second, **keys).agreement
    assert (found.same, found.score) == (score == 1.0, score)
    assert found.identical == (value == "2.0")


@pytest.mark.parametrize(
    ("values", "score"),
    [(("inf", "inf"), 1.0), (("-inf", "inf"), 0.5), (("inf", "2.0"), 0.5), (("NaN", "NaN"), 1.0)],
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_equal_infinities_in_tables_are_the_same(step, tmp_path, values, score):
    tables = [TABLE.replace("{value}", value) for value in values]
    found = compared(step, tmp_path, *tables, output="cells.csv").agreement
    assert (found.score, found.details["largest_difference"]) == (score, 0.0)


CELLS = """\
import numpy, sys, tifffile
frames = numpy.zeros((4, 20, 20), "uint16")
frames[:, 2:8, 2:8], frames[:, 12:18, 12:18] = {a}, {b}
frames[0, {lost}] = 0
tifffile.imwrite(sys.argv[2], frames, photometric="minisblack")
"""


@pytest.mark.parametrize(
    ("numbers", "lost", "score"),
    [((7, 3), "0:0", 1.0), ((1, 2), "2:8", 7 / 8), ((1, 1), "0:0", 0.0)],
)
def test_labels_are_compared_by_cells_whatever_their_numbers(step, tmp_path, numbers, lost, score):
    first = CELLS.format(a=1, b=2, lost="0:0")
    second = CELLS.format(a=numbers[0], b=numbers[1], lost=lost)
    found = compared(step, tmp_path, first, second, check="labels").agreement
    assert (found.same, found.score) == (score == 1.0, pytest.approx(score))


JUDGE = """\
import sys
one, other = (open(path).read() for path in sys.argv[1:])
print("::metric apart=1.5e-1", file=sys.stderr)
print("::metric half", file=sys.stderr)
sys.exit({"broken": 3}.get(other, int(one != other)))
"""


@pytest.mark.parametrize(("second", "same"), [("a", True), ("b", False)])
def test_a_command_of_ones_own_judges_and_measures(step, tmp_path, second, same):
    (tmp_path / "judge.py").write_text(JUDGE)
    writes = "import sys; open(sys.argv[2], 'w').write({!r})"
    judge = f"{sys.executable} judge.py {{reference}} {{other}}"
    keys = {"output": "rows.csv", "check": judge}
    result = compared(step, tmp_path, writes.format("a"), writes.format(second), **keys)
    assert (result.agreement.same, result.agreement.score) == (same, float(same))
    assert result.quality == {"apart": 0.15}
    assert [warning.code for warning in result.warned] == ["unread-metric"]


def test_folders_are_compared_file_by_file(step, tmp_path):
    writes = (
        "import sys\nfor name in {names!r}: open(f'{{sys.argv[2]}}/{{name}}', 'w').write('x')\n"
    )
    first, second = (writes.format(names=names) for names in ("abc", "abd"))
    found = compared(step, tmp_path, first, second, output="crops").agreement
    assert (found.same, found.score) == (False, 0.5)
    assert found.details["files_of_one_alone"] == 2
    # What a program keeps of itself is no part of what it computes.
    hides = f"{first}open(f'{{sys.argv[2]}}/.log', 'w').write('times')\n"
    again = compared(step, tmp_path / "again", first, hides, output="crops").agreement
    assert again.identical


def test_labels_of_other_sizes_cannot_be_compared(step, tmp_path):
    first = CELLS.format(a=1, b=2, lost="0:0")
    second = first.replace("20, 20", "20, 24")
    result = compared(step, tmp_path, first, second, check="labels")
    assert "no cells can be compared" in result.error.message


def test_a_judge_that_fails_is_no_judgement(step, tmp_path):
    (tmp_path / "judge.py").write_text(JUDGE)
    keys = {"output": "a.csv", "check": f"{sys.executable} judge.py {{reference}} {{other}}"}
    breaks = "import sys; open(sys.argv[2], 'w').write('broken')"
    result = compared(step, tmp_path, breaks, breaks, **keys)
    assert "failed with exit code 3" in result.error.message
