import pytest

from pyscale.errors import UserError
from refusals import refused

HEADER = [
    *("task_id", "hash", "native_id", "name", "status", "exit", "submit", "duration", "realtime"),
    *("%cpu", "peak_rss", "peak_vmem", "rchar", "wchar"),
]
RAW = [
    *("task_id", "hash", "name", "status", "attempt", "start", "complete", "realtime", "%cpu"),
    *("peak_rss", "cpus", "memory"),
]


def trace(header, *lines):
    return "\n".join("\t".join(line) for line in (header, *lines)) + "\n"


def default(number, submit, duration="1m 10s", realtime="1m", status="COMPLETED", tag="w"):
    """A line of the default fields, as they are printed for people."""
    name = f"LAB:SEGMENT ({tag}{number})"
    head = [str(number), f"ab/{number:06}", "17", name, status, "0", f"2026-03-17 {submit}"]
    return [*head, duration, realtime, "150.0%", "2.5 GB", "7 GB", "40 MB", "0"]


def raw(number, start_ms, realtime_ms=60_000, attempt="1", status="COMPLETED"):
    """A line of chosen fields, raw."""
    begin = 1_773_747_744_000 + start_ms
    head = [str(number), f"cd/{number:06}", f"SEGMENT ({number})", status, attempt]
    times = [str(begin), str(begin + realtime_ms), str(realtime_ms)]
    return [*head, *times, "150.0", "2500000000", "2", "4294967296"]


def rows(table):
    return table.select("stage", "workers", "repeat", "wall_s").rows()


def test_a_process_is_a_stage_and_the_tasks_that_ran_at_once_its_workers(write, imported):
    lines = [default(n, f"11:42:0{n}.250") for n in range(1, 5)]
    table, said = imported("nextflow", write(trace(HEADER, *lines)))
    assert rows(table) == [("LAB:SEGMENT", 4, 0, 60)] * 4
    assert table["peak_memory_bytes"].to_list() == [5 << 29] * 4
    assert table["cpu_s"].to_list() == [90] * 4
    assert "found 1 trial of LAB:SEGMENT in 4 tasks" in said


def test_what_waited_is_no_part_of_the_time_and_what_followed_is_one_workers(write, imported):
    # Seen to be complete 70 s after it was submitted, of which it ran 60 s.
    first = default(1, "11:42:00.000")
    table = imported("nextflow", write(trace(HEADER, first)))[0]
    assert table["start"][0] == "2026-03-17T11:42:09.500000"
    assert rows(table) == [("LAB:SEGMENT", 1, 0, 60)]
    # 70.4 s are printed as 1m 10s; the next is submitted as soon as the first is seen to end.
    lines = [first, default(2, "11:43:09.600", duration="1m 1s")]
    table = imported("nextflow", write(trace(HEADER, *lines)))[0]
    assert rows(table) == [("LAB:SEGMENT", 1, 0, 120)]


def test_raw_times_are_milliseconds_and_sizes_bytes(write, imported):
    table = imported("nextflow", write(trace(RAW, raw(1, 0), raw(2, 500))))[0]
    assert rows(table) == [("SEGMENT", 2, 0, 60)] * 2
    row = table.row(0, named=True)
    assert row["start"] == "2026-03-17T11:42:24"
    assert (row["cpus"], row["cpu_s"]) == (2, 90)
    assert row["peak_memory_bytes"] == 2_500_000_000
    assert row["requested_memory_bytes"] == 4 << 30


def test_several_traces_are_repeats_even_where_their_files_have_one_name(write, imported):
    files = [
        write(trace(RAW, raw(number, 100_000 * number)), f"run{number}/trace.txt")
        for number in (2, 1)
    ]
    table = imported("nextflow", *files)[0]
    assert rows(table) == [("SEGMENT", 1, 0, 60), ("SEGMENT", 1, 1, 60)]
    assert table["task"].to_list() == ["cd/000001 SEGMENT (1)", "cd/000002 SEGMENT (2)"]


def test_more_tasks_than_ran_at_once_are_shared_by_the_workers(write, imported):
    lines = [raw(n, 60_000 * (n // 2)) for n in range(6)]
    table, said = imported("nextflow", write(trace(RAW, *lines)))
    assert rows(table) == [("SEGMENT", 2, 0, 180)] * 2
    assert "(6 tasks, N = 2)" in said


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (raw(9, 0, status="CACHED"), "1 cached"),
        (raw(9, 0, status="FAILED"), "1 failed"),
        (raw(9, 0, attempt="2"), "1 tried again"),
        (raw(9, 0, realtime_ms=0), "1 without a time"),
        ([*raw(9, 0)[:5], "-", "-", "-", "-", "-", "-", "-"], "1 without a time"),
    ],
)
def test_a_process_of_which_a_task_did_not_run_through_is_left_out(write, imported, line, why):
    whole, broken = write(trace(RAW, raw(1, 0)), "a.txt"), write(trace(RAW, raw(2, 0), line))
    table, said = imported("nextflow", whole, broken)
    assert len(table) == 1
    assert f"SEGMENT {broken} (of 2 tasks {why})" in said


def test_the_name_of_the_process_is_taken_where_there_is_one(write, imported):
    line = ["SEGMENT", "COMPLETED", "5s"]
    text = trace(["process", "status", "realtime"], line)
    assert rows(imported("nextflow", write(text), workers=1)[0]) == [("SEGMENT", 1, 0, 5)]


def test_without_times_of_day_the_number_of_workers_must_be_given(write, imported, capsys):
    lines = [["1", "SEGMENT (1)", "COMPLETED", "5s"], ["2", "SEGMENT (2)", "COMPLETED", "5.5s"]]
    path = write(trace(["task_id", "name", "status", "realtime"], *lines))
    with refused(UserError):
        imported("nextflow", path)
    assert "set --workers" in capsys.readouterr().err
    assert rows(imported("nextflow", path, workers=2)[0]) == [
        ("SEGMENT", 2, 0, 5),
        ("SEGMENT", 2, 0, 5.5),
    ]


def test_who_did_what_is_not_guessed(write, imported, capsys):
    lines = [[str(n), "SEGMENT", "COMPLETED", "5s"] for n in range(4)]
    path = write(trace(["task_id", "name", "status", "realtime"], *lines))
    with refused(UserError):
        imported("nextflow", path, workers=2)
    assert "does not show which of 2 workers did which of 4 tasks" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("status", "state"), id="no column status"),
        pytest.param(("1m 10s", "1m 10x"), id="duration 1m 10x is not a time"),
        pytest.param(("2.5 GB", "much"), id="peak_rss much is not a size"),
        pytest.param(("2026-03-17 11", "noon"), id="submit noon:42:00.000 is not a"),
        pytest.param(("1m 10s", "99999999999999s"), id="give a date beyond the calendar"),
        pytest.param(("1m 10s", "9" * 400 + "d"), id="is not a time"),
        pytest.param(("\t0\n", "\n"), id="line 2 has 13 columns, but the"),
    ],
)
def test_what_is_wrong_with_a_trace_is_said_in_one_sentence(write, refused, change):
    text = trace(HEADER, default(1, "11:42:00.000")).replace(*change)
    refused("nextflow", write(text))


def test_a_process_whose_name_would_be_a_formula_is_refused_as_a_table_would_be(write, imported):
    line = raw(1, 0)
    line[2] = "=SEGMENT (1)"
    with refused(UserError):
        imported("nextflow", write(trace(RAW, line)))
