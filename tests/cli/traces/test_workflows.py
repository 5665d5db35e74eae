import json

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


PLAIN = [
    *("s", "h:m:s", "max_rss", "max_vms", "max_uss", "max_pss", "io_in", "io_out", "mean_load"),
    "cpu_time",
]
EXTENDED = [*PLAIN, "jobid", "rule_name", "wildcards", "params", "threads", "resources"]


def plain(seconds):
    return [str(seconds), "0:00:06", "64.00", "77.88", "6.0", "6.0", "0.0", "-", "0.0", "5.50"]


def extended(seconds):
    return [*plain(seconds), "1", "segment", "{'w': '0'}", "{}", "1", "{'mem_mib': 287}"]


PLAINLY = {"workers": 1, "stage": "a"}


def test_the_lines_of_a_file_are_repeats_and_files_tasks_even_of_one_name(write, imported):
    files = [write(trace(PLAIN, plain(3), plain(4)), f"{folder}/w.tsv") for folder in "ab"]
    table = imported("snakemake", *files, workers=2, stage="segment")[0]
    assert rows(table) == [
        ("segment", 2, 0, 3),
        ("segment", 2, 0, 3),
        ("segment", 2, 1, 4),
        ("segment", 2, 1, 4),
    ]
    assert table["task"].n_unique() == 2


def test_jobs_of_one_worker_are_added_up(write, imported):
    files = [write(trace(PLAIN, plain(3)), f"w{n}.tsv") for n in range(2)]
    table, said = imported("snakemake", *files, workers=1, stage="segment")
    assert rows(table) == [("segment", 1, 0, 6)]
    assert "added up" in said


def test_what_was_too_short_to_be_looked_at_has_a_time_all_the_same(write, imported):
    line = ["0.21", "0:00:00", *["NA"] * 8]
    row = imported("snakemake", write(trace(PLAIN, line)), workers=1, stage="a")[0]
    assert row.select("wall_s", "peak_memory_bytes", "cpu_s").row(0) == (0.21, None, None)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param(trace(PLAIN, plain(3)), {"workers": 1}, id="--benchmark-extended"),
        pytest.param(
            trace(EXTENDED, extended(3)), {"stage": "a", "workers": 1}, id="leave out --stage"
        ),
        pytest.param(
            trace(PLAIN, plain("0:34:10")), {"workers": 1}, id="s 0:34:10 is not a number"
        ),
        pytest.param(
            trace(PLAIN, plain(3)).replace("64.00", "nan"), PLAINLY, id="nan is not a num"
        ),
        pytest.param(trace(PLAIN, plain(3)).replace("64.00", "1e99"), PLAINLY, id="_bytes of"),
        pytest.param(trace(PLAIN, plain("-5")), PLAINLY, id="s -5 is not a number of seconds"),
        pytest.param(trace(PLAIN, plain("1e-320")), PLAINLY, id="wall_s of"),
        pytest.param(trace(PLAIN, plain(3)[:4]), PLAINLY, id="4 columns, but the header 10"),
    ],
)
def test_what_is_wrong_with_a_benchmark_is_said_in_one_sentence(write, refused, text, options):
    refused("snakemake", write(text), **options)


def test_how_many_ran_at_once_must_be_given(write, imported, capsys):
    with refused(UserError):
        imported("snakemake", write(trace(EXTENDED, extended(3))))
    assert "set --workers" in capsys.readouterr().err


def keep(folder, name, rule, start, end, **more):
    """Write what Snakemake keeps of a file that a rule wrote."""
    folder.mkdir(parents=True, exist_ok=True)
    told = {"rule": rule, "input": [], "starttime": start, "endtime": end, **more}
    (folder / name).write_text(json.dumps(told))


def test_what_snakemake_keeps_of_each_job_is_read_from_its_folder(tmp_path, imported):
    folder = tmp_path / ".snakemake" / "metadata"
    keep(folder, "a", "label", 10.0, 14.0, input=["1"])
    keep(folder, "b", "label", 12.0, 15.0, input=["2"])
    keep(folder / "deep", "c", "label", 20.0, 22.0, input=["3"])
    # Another output of the same job, which is no job by itself.
    keep(folder, "d", "label", 20.0, 22.0, input=["3"])
    keep(folder, "e", "count", 15.0, 15.5)
    (folder / "broken").write_text("{")
    (folder / "another version").write_text('{"rule": "label"}')
    alone = tmp_path / "one core" / "metadata"
    keep(alone, "a", "label", 10.0, 19.0)
    table = imported("snakemake", folder, alone)[0]
    # Two jobs of label ran at once, and one of them did the third.
    expected = [("label", 1, 0, 9), ("label", 2, 0, 6), ("label", 2, 0, 3), ("count", 1, 0, 0.5)]
    assert rows(table) == expected


def test_jobs_without_times_are_counted_and_named(tmp_path, imported):
    folder = tmp_path / ".snakemake" / "metadata"
    keep(folder, "a", "label", 10.0, 14.0, input=["1"])
    keep(folder, "b", "label", None, None, input=["2"])
    keep(folder, "c", "count", 15.0, 15.0, input=["3"])
    keep(folder, "d", "join", 16.0, 18.0)
    table, said = imported("snakemake", folder)
    assert rows(table) == [("join", 1, 0, 2)]
    assert "1 without a time" in said


def test_a_folder_without_records_is_refused(tmp_path, refused):
    refused("snakemake", tmp_path)
