"""A user's table, over workers or sizes, is read, or refused in one sentence with the line."""

from datetime import UTC, datetime

import pytest

from pyscale.errors import UserError
from pyscale.references.files import shipped_folder
from pyscale.report.table import READ, has_sizes, read_sizes, read_wall_times
from refusals import refused

HEADER = "stage,workers,wall_s\n"
SIZES = "device,length_px,wall_s\n"


@pytest.fixture
def csv(tmp_path):
    def write(content):
        path = tmp_path / "times.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_a_table_of_a_german_spreadsheet_is_read(csv):
    text = "\ufeffstage;workers;wall_s;work\r\nseg;1;100,5;1,5\r\nseg;2;00:01:02;3\r\n"
    found = read_wall_times(csv(text))
    assert found["wall_s"].to_list() == [100.5, 62.0]
    assert found["work"].to_list() == [1.5, 3.0]


def unreadable(read, path):
    with refused(UserError) as raised:
        read(path)
    said = str(raised.value)
    assert said.startswith(str(path))
    assert "\n" not in said


@pytest.mark.parametrize(
    "content",
    [
        HEADER + "a,1,2\n",
        HEADER + "a,1,2.0",
        "\ufeff" + HEADER + "a,1,2\n",
        "stage, workers, wall_s\r\na, 1, 2e0\r\n",
        "wall_s,stage,workers\n2,a,1\n",
        HEADER + '"a","1","2"\n',
        HEADER + "a,1.0,2\n",
        "stage;workers;wall_s\na;1;2\n",
        "stage\tworkers\twall_s\r\na\t1\t2\r\n",
        "stage,workers,wall_s,,\na,1,2,,\n,,,,\n",
        HEADER + "\na,1,2\n\n  \n,,\n",
    ],
)
def test_what_spreadsheets_write_is_read(csv, content):
    assert read_wall_times(csv(content)).to_dicts() == [{"stage": "a", "workers": 1, "wall_s": 2}]


@pytest.mark.parametrize("name", ["pycyto_horizontal_scaling.csv", "pycyto_trackmate_tasks.csv"])
def test_published_tables_are_read(references, name):
    table = read_wall_times(references / name)
    assert table["wall_s"].min() > 100
    assert set(table["workers"]) <= {1, 2, 4, 8}


@pytest.mark.parametrize(
    "content",
    [
        "",
        HEADER,
        "stage,workers\na,1\n",
        "stage;workers;wall_s\na;1;1,000\n",
        HEADER + "a,1,01:40\n",
        "\n\n" + HEADER + "a,1,2\na,2,fast\n",
        "stage,workers,wall_s,blocks\na,1,2,0\n",
        "stage,workers,wall_s,block,repeat\na,1,2,0,0\n",
        "stage,workers,wall_s,block\na,1,2,0\na,1,3,0\n",
        "stage,workers,wall_s,block\na,1,2,\n",
        "stage,workers,wall_s,block,task\na,2,3,4,w0\n",
        "stage,worker,wall_s\na,1,2\n",
        "stage,workers,wall_s,wall_s\na,1,2,3\n",
        HEADER + "a,1,fast\n",
        'stage,workers,wall_s,note\na,1,2,"of\ntwo"\na,two,2,\n',
        HEADER + "a,1.5,2\n",
        HEADER + "a,1,1_000\n",
        HEADER + 'a,1,"3,5,1"\n',
        HEADER + "a,1,0\n",
        HEADER + "a,1,nan\n",
        HEADER + "a,1,1e300\n",
        HEADER + "a,0,3\n",
        HEADER + "a,,3\n",
        HEADER + "a,1\n",
        HEADER + "a,1,2,3\n",
        HEADER + '"a,1,2\n',
        HEADER + "a,1,3\nb,1,3\na,1,4\n",
        "stage,workers,wall_s,repeat\na,1,3,1\na,1,3,1\n",
        "stage,workers,wall_s,task\na,2,3,w0\n",
        "stage,workers,wall_s,task,mean_task_s\na,1,3,w0,3\n",
        "stage,workers,wall_s,mean_task_s\na,2,3,4\n",
        "stage,workers,wall_s,cpus\na,1,2,0\n",
        "stage,workers,wall_s,gpus\na,1,2,-1\n",
        "stage,workers,wall_s,work\na,1,2,0\n",
        "stage,workers,wall_s,peak_memory_bytes\na,1,2,5G\n",
        f"stage,workers,wall_s,cpus\na,1,2,{2**63}\n",
        "stage,workers,wall_s,start\na,1,2,noon\n",
        "stage,workers,wall_s,start,end\na,1,2,2026-03-17T10:00:00,2026-03-17T09:00:00\n",
        "stage,workers,wall_s,start\na,1,2,2026-03-17T10:00Z\na,2,2,2026-03-17T10:01\n",
        HEADER.encode("utf-16"),
        HEADER.encode() + b"\xe9,1,2\n",
    ],
)
def test_what_is_wrong_with_a_table_is_said_in_one_sentence(csv, content):
    unreadable(read_wall_times, csv(content))


def test_what_stands_beside_is_read_and_may_be_blank(csv):
    path = csv(
        "stage,workers,wall_s,trial,cpus,gpus,cpu_s,peak_memory_bytes,node,start,state\n"
        "a,1,2,x,4,0,3.5,1024,n1,2026-03-17T11:42:24+01:00,COMPLETED\n"
        "a,2,1,,,,,,,,\n"
    )
    told, blank = read_wall_times(path).drop("stage", "workers", "wall_s").to_dicts()
    assert told == {
        "cpus": 4,
        "gpus": 0,
        "cpu_s": 3.5,
        "peak_memory_bytes": 1024,
        "node": "n1",
        "start": datetime(2026, 3, 17, 10, 42, 24, tzinfo=UTC),
    }
    assert set(blank.values()) == {None}


@pytest.mark.parametrize("column", [name for name, own in READ.items() if own.zero_is_unknown])
def test_where_schedulers_write_zero_nothing_was_measured(csv, column):
    table = read_wall_times(csv(f"stage,workers,wall_s,{column}\na,1,2,0\n"))
    assert table[column].to_list() == [None]


def test_dates_of_one_clock_need_no_time_zone(csv):
    path = csv(
        "stage,workers,wall_s,start\na,1,2,2026-03-17 11:42:24\na,2,2,2026-03-17T11:43:00.5\n"
    )
    first, second = read_wall_times(path)["start"].to_list()
    assert (second - first).total_seconds() == 36.5


def test_own_columns_are_ignored_and_named(csv, capsys):
    path = csv(",stage,workers,wall_s,comment,host,\n0,a,1,2,cold,n1,\n1,a,2,1,,n1,\n")
    assert read_wall_times(path).columns == ["stage", "workers", "wall_s"]
    told = capsys.readouterr().err
    assert told == (f"{path}: unknown columns are ignored: one without a name, comment, host\n")
    read_wall_times(csv("stage,workers,wall_s,,\na,1,2,,\n"))
    assert capsys.readouterr().err == "", "without a name and a value they are not worth a word"


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path):
    with refused(UserError):
        read_wall_times(tmp_path / "none.csv")
    with refused(UserError):
        read_wall_times(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "=cmd|'/c calc'!A1",
        "+1",
        "-1",
        "@SUM(1)",
        "a\x1b[31m",
        "a\x07",
    ],
)
def test_a_name_that_a_spreadsheet_or_a_terminal_would_obey_is_refused(csv, name):
    with refused(UserError):
        read_wall_times(csv(HEADER + f'"{name}",1,2\n'))


@pytest.mark.parametrize("name", ["a-b", "a=b", "<b>", "1", "Zellen (groß)"])
def test_any_other_name_is_kept_as_it_is(csv, name):
    assert read_wall_times(csv(HEADER + f'"{name}",1,2\n'))["stage"].to_list() == [name]


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
    "content",
    [
        SIZES,
        "device,length_px\ncpu,224\n",
        "device,length_px,wall_s,time_s\ncpu,224,1,1\n",
        "device,length_px,wall_s,stages\ncpu,224,1,a\n",
        "device,length_px,wall_s,block,repeat\ncpu,224,1,0,0\n",
        SIZES + "cpu,224,1\ncpu,448,nan\n",
        SIZES + "cpu,224,0\n",
        SIZES + "cpu,224,\n",
        SIZES + "cpu,0,1\n",
        SIZES + "cpu,224 px,1\n",
        SIZES + "cpu,224,1\nxpu-3,224,1\n",
        SIZES + "gpu-cpu,224,1\n",
        SIZES + "cpu-a,224,1\ngpu,224,1\ncpu-b,224,1\n",
        SIZES + "cpu,224,1\ncpu,224,2\n",
    ],
)
def test_what_is_wrong_with_sizes_is_said_with_its_line(csv, content):
    unreadable(read_sizes, csv(content))
