"""A table of times by device and size is read, or refused in one sentence with the line."""

import pytest

from pyscale.errors import UserError
from pyscale.references.files import shipped_folder
from pyscale.report.table import has_sizes, read_sizes

HEADER = "device,length_px,wall_s\n"


@pytest.fixture
def csv(tmp_path):
    def write(content):
        path = tmp_path / "sizes.csv"
        path.write_text(content)
        return path

    return write


def test_times_may_be_called_time_s(csv):
    for column in ("wall_s", "time_s"):
        read = read_sizes(csv(f"device,length_px,{column}\ncpu,224,0.98\n"))
        assert read.to_dicts() == [{"device": "cpu", "length_px": 224, "wall_s": 0.98}]


def test_stages_and_repeats_are_kept(csv):
    read = read_sizes(csv("stage,repeat,device,wall_s,length_px\na,1,cpu,2,224\na,2,cpu,3,224\n"))
    assert read["repeat"].to_list() == [1, 2]
    assert read["stage"].to_list() == ["a", "a"]


def test_the_published_table_is_read_as_it_is(references):
    raw = references / "cellpose_device_sweep.csv"
    assert has_sizes(raw)
    shipped = read_sizes(shipped_folder() / "cellpose-devices.csv")
    assert read_sizes(raw).rows() == shipped.drop("stage").rows()


def test_a_table_over_workers_is_none_of_sizes(csv):
    assert not has_sizes(csv("stage,workers,wall_s\na,1,2\n"))
    assert not has_sizes(csv("stage,workers,wall_s,length_px\na,1,2,224\n"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (HEADER, "has no rows"),
        ("device,length_px\ncpu,224\n", "has no column 'wall_s'"),
        (
            "device,length_px,wall_s,time_s\ncpu,224,1,1\n",
            "has both 'wall_s' and 'time_s': keep one",
        ),
        ("device,length_px,wall_s,stages\ncpu,224,1,a\n", "did you mean 'stage'"),
        (
            "device,length_px,wall_s,block,repeat\ncpu,224,1,0,0\n",
            "has both 'repeat' and 'block': keep",
        ),
        (HEADER + "cpu,224,1\ncpu,448,nan\n", "line 3: wall_s nan is not a time in seconds"),
        (HEADER + "cpu,224,inf\n", "line 2: wall_s inf is not a time in seconds"),
        (HEADER + "cpu,224,0\n", "line 2: wall_s 0 must be above zero (a time in seconds)"),
        (HEADER + "cpu,224,-1\n", "line 2: wall_s -1 must be above zero"),
        (HEADER + "cpu,224,\n", "line 2: 'wall_s' is blank: fill it in"),
        (
            "device,length_px,time_s\ncpu,224,0\n",
            "line 2: time_s 0 must be above zero (a time in seconds)",
        ),
        (HEADER + "cpu,0,1\n", "line 2: length_px 0 must be above zero (a length in pixels)"),
        (HEADER + "cpu,nan,1\n", "line 2: length_px nan is not a length in pixels"),
        (HEADER + "cpu,224 px,1\n", "line 2: length_px '224 px' is not a number"),
        (HEADER + "cpu,224,1\nxpu-3,224,1\n", "line 3: device 'xpu-3' must name one of cpu, gpu"),
        (HEADER + "gpu-cpu,224,1\n", "line 2: device 'gpu-cpu' must name one of cpu, gpu"),
        (
            HEADER + "cpu-a,224,1\ngpu,224,1\ncpu-b,224,1\n",
            "line 4: cpu-b and cpu-a are both the CPU (the baseline)",
        ),
        (
            HEADER + "cpu,224,1\ncpu,224,2\n",
            "line 3 repeats line 2 (cpu at 224 px): number repeated trials in a column 'repeat'",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence_with_its_line(csv, content, sentence):
    with pytest.raises(UserError) as found:
        read_sizes(csv(content))
    message = str(found.value)
    assert sentence in message
    assert "sizes.csv" in message
    assert "\n" not in message
