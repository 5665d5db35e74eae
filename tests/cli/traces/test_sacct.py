import pytest

from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.errors import UserError
from pyscale.report.table import BESIDE, COLUMNS, read_wall_times
from refusals import assert_said, refused


def rows(table):
    return table.select("stage", "workers", "repeat", "wall_s").rows()


def test_an_array_is_a_trial_and_arrays_of_one_name_and_size_are_its_repeats(
    sacct, write, imported
):
    sacct.array([500], wall=100)
    sacct.array([0], wall=101)
    sacct.array([1000, 1000], wall=52)
    table, said = imported("sacct", write(sacct.text))
    # In the order of time, not of the file.
    assert rows(table) == [
        ("segment", 1, 0, 101),
        ("segment", 1, 1, 100),
        ("segment", 2, 0, 52),
        ("segment", 2, 0, 52),
    ]
    assert "found 3 trials of segment in 4 tasks" in said
    assert "left out" not in said


def test_what_the_trace_tells_beside_is_kept(sacct, write, imported):
    sacct.job("7", start=10, wall=60, cpus=8, gpus=2, memory="4Gn")
    row = imported("sacct", write(sacct.text))[0].row(0, named=True)
    assert row["start"] == "2026-03-17T11:42:34"
    assert row["end"] == "2026-03-17T11:43:34"
    assert (row["cpus"], row["gpus"], row["cpu_s"], row["node"]) == (8, 2, 30.5, "n1")
    assert row["requested_memory_bytes"] == 4 << 30
    assert row["peak_memory_bytes"] == 110145536
    assert (row["task"], row["state"]) == ("7", "COMPLETED")


def test_the_table_is_what_the_report_reads(sacct, write, imported, tmp_path):
    for begin in range(6):
        sacct.array([1000 * begin], wall=100 + begin)
        sacct.array([1000 * begin + 200] * 2, wall=60 + begin)
    table, said = imported("sacct", write(sacct.text))
    assert set(table.columns) <= {*COLUMNS, *BESIDE}
    assert f"pyscale report --table {tmp_path / 'table.csv'}" in said.replace("\n", "")
    found = configurations(trials_from_wall_times(read_wall_times(tmp_path / "table.csv")))
    at_2 = found.row(1, named=True)
    assert (at_2["workers"], at_2["repeats"]) == (2, 6)
    assert at_2["speedup"] == pytest.approx(102.5 / 62.5)
    assert at_2["load_balance"] == 1


def test_an_array_has_as_many_workers_as_ran_at_once(sacct, write, imported):
    sacct.array([0, 0, 60, 60])
    table, said = imported("sacct", write(sacct.text))
    assert rows(table) == [("segment", 2, 0, 120)] * 2
    assert table["tasks_done"].to_list() == [2, 2]
    assert "segment 100 (4 tasks, N = 2)" in said
    # Those that followed each other within one second did not run at once.
    one = type(sacct)()
    one.array([0, 60, 120])
    assert rows(imported("sacct", write(one.text))[0]) == [("segment", 1, 0, 180)]


def test_the_number_of_workers_can_be_given_and_is_doubted_where_others_ran_at_once(
    sacct, write, imported
):
    sacct.array([0, 0, 60, 60])
    table, said = imported("sacct", write(sacct.text), workers=4)
    assert rows(table) == [("segment", 4, 0, 60)] * 4
    assert "fewer workers ran at once: segment 100 (2 of 4)" in said
    sacct.array([200, 200, 200, 200])
    said = imported("sacct", write(sacct.text), workers=2)[1]
    assert "segment 104 (4 tasks ran at once, more than the 2 workers)" in said


@pytest.mark.parametrize("state", ["FAILED", "CANCELLED by 1000", "RUNNING"])
def test_a_trial_of_which_a_task_did_not_complete_is_left_out_whole(sacct, write, imported, state):
    sacct.array([0, 0])
    sacct.job("9_0", raw="10").job("9_1", raw="9", state=state)
    table, said = imported("sacct", write(sacct.text))
    assert table["trial"].unique().to_list() == ["100"]
    assert_said(said)


RAN = {
    "an array of which elements wait has not ended": lambda sacct: (
        sacct.array([0]),
        sacct.job("9_0", raw="10").job("9_[1,2-3,4-6:2,5%2]", raw="9", state="PENDING"),
    ),
    "an array whose rest never began is no smaller array": lambda sacct: (
        sacct.array([0]),
        sacct.job("9_0", raw="10").job("9_1", raw="11"),
    ),
    "a task that was tried again shows by its later submission": lambda sacct: (
        sacct.array([0]),
        sacct.job("9_0", raw="10").job("9_1", raw="9", submit=1, start=30),
    ),
    "a task that was tried again shows by its duplicates": lambda sacct: (
        sacct.array([0]),
        sacct.job("9", state="REQUEUED").job("9", start=300),
    ),
    "a job of several processes is no single worker": lambda sacct: sacct.job(
        "7", tasks=4, cpus=4
    ).job("8", start=100),
    "plain jobs that ran at the same time are doubted": lambda sacct: sacct.job("1").job(
        "2", start=5
    ),
    "a part of a job of several kinds of nodes is no job": lambda sacct: sacct.job("1").job("9+1"),
    "a task that took no second has no time": lambda sacct: sacct.job("1", wall=0).job("2"),
}


@pytest.mark.parametrize("ran", RAN.values(), ids=RAN)
def test_what_ran_otherwise_than_trials_do_is_said(sacct, write, imported, ran):
    ran(sacct)
    assert_said(imported("sacct", write(sacct.text))[1])


@pytest.mark.parametrize("indices", [[3], [0, 1, 3], [2, 3]])
def test_a_part_of_an_array_that_was_submitted_again_is_no_trial(sacct, write, imported, indices):
    sacct.array([0])
    for index in indices:
        sacct.job(f"9_{index}", raw="9" if index == indices[-1] else "10")
    assert "of a part that was submitted again" in imported("sacct", write(sacct.text))[1]


def test_an_array_may_count_in_steps_and_an_export_stand_twice(sacct, write, imported):
    sacct.job("9_0", raw="10").job("9_20", raw="11").job("9_40", raw="9")
    # Put one behind the other, with the header of each.
    assert imported("sacct", write(sacct.text * 2))[0]["workers"].to_list() == [3, 3, 3]


def test_a_name_may_hold_bars_and_memory_be_asked_for_each_core(sacct, write, imported):
    sacct.job("7", "a|b", cpus=4, memory="2Gc")
    row = imported("sacct", write(sacct.text))[0].row(0, named=True)
    assert (row["stage"], row["requested_memory_bytes"]) == ("a|b", 8 << 30)


def test_times_for_people_are_read_as_well_as_raw_ones(write, imported):
    text = (
        "JobID|State|Start|End|MaxRSS|ReqMem|JobName|\n"
        "7|COMPLETED|2026-03-17T11:42:24|2026-03-18T12:42:24||2G|segment|\n"
        "7.batch|COMPLETED|2026-03-17T11:42:24|2026-03-18T12:42:24|1.50G||batch|\n"
    )
    row = imported("sacct", write(text))[0].row(0, named=True)
    assert row["wall_s"] == 25 * 3600
    assert row["start"] == "2026-03-17T11:42:24"
    assert row["requested_memory_bytes"] == 2 << 30
    assert row["peak_memory_bytes"] == 3 << 29


def test_traces_with_a_time_zone_and_without_stand_together(sacct, write, imported):
    sacct.job("7", "a")
    local = (
        "JobID|State|Start|End|AllocCPUS|AllocTRES|JobName\n"
        "8|COMPLETED|2026-03-18T11:42:24|2026-03-18T11:43:24|1|cpu=1|a\n"
    )
    table = imported("sacct", write(local, "local.txt"), write(sacct.text))[0]
    assert table.select("task", "repeat").rows() == [("7", 0), ("8", 1)]


def test_steps_that_ran_at_once_are_several_workers(write, imported, sacct):
    sacct.job("7").job("8", start=100)
    steps = [f"8.{step}|8.{step}|COMPLETED|1|10|40|30||1|1|n1||||||prog\n" for step in range(2)]
    said = imported("sacct", write(sacct.text + "".join(steps)))[1]
    assert "segment 8 (of steps that ran at once)" in said


def test_jobs_of_other_sizes_are_no_repeats(sacct, write, imported):
    sacct.job("1", cpus=1).job("2", cpus=8, start=100)
    table, said = imported("sacct", write(sacct.text))
    assert table["stage"].to_list() == ["segment (1 CPU)", "segment (8 CPUs)"]
    assert "kept apart: segment (1 CPU) and segment (8 CPUs)" in said


def test_without_steps_more_is_unknown_than_memory(sacct, write, imported):
    sacct.job("1")
    without = "\n".join(line for line in sacct.text.splitlines() if ".batch" not in line)
    assert "leave out -X" in imported("sacct", write(without))[1]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("JobID|", "Job|"), id="no column JobID"),
        pytest.param(("|2000M|", "|lots|"), id="line 2: ReqMem lots is not a"),
        pytest.param(("1773747744", "noon"), id="noon is not a date"),
        pytest.param(("|60|", "|-60|"), id="ElapsedRaw -60 is not a time"),
        pytest.param(("cpu=1", "gres/gpu=" + "9" * 5_000), id="is not a list of counts"),
    ],
)
def test_what_is_wrong_with_a_trace_is_said_in_one_sentence(sacct, write, refused, change):
    refused("sacct", write(sacct.job("7").text.replace(*change)))


def test_lines_that_were_cut_are_refused(sacct, write, imported):
    sacct.job("7")
    with refused(UserError):
        imported("sacct", write(sacct.text[: sacct.text.index("7.batch") + 10]))


def test_jobs_of_two_clusters_may_have_one_id(sacct, write, imported):
    sacct.array([0, 0])
    first = write(sacct.text, "a.txt")
    other = write(
        sacct.text.replace("17737477", "17737577").replace("17737478", "17737578"), "b.txt"
    )
    assert imported("sacct", first, other)[0]["workers"].to_list() == [2, 2, 2, 2]


def test_dates_of_a_clock_that_was_set_back_are_left_out(sacct, write, imported, tmp_path, capsys):
    # As of a job that ran while summer time ended, told in local time.
    begin, end, wall = "2026-10-25T02:50:00", "2026-10-25T02:10:00", 1200
    lines = f"7|7|COMPLETED|{begin}|{begin}|{end}|{wall}|00:30|1||n1|1G||cpu=1|||segment\n"
    header, *_ = sacct.text.splitlines()
    table, _ = imported("sacct", write(f"{header}\n{lines}"), workers=1)
    assert table.select("start", "end").row(0) == (None, None)
    assert read_wall_times(tmp_path / "table.csv")["wall_s"].to_list() == [1200]
    # Nothing tells the time of one without it.
    sacct.job("7", wall=-60)
    with refused(UserError):
        imported("sacct", write(sacct.text.replace("|-60|", "||")))
    assert "without a time" in capsys.readouterr().err


HEAD = (
    "JobID|JobIDRaw|State|Submit|Start|End|ElapsedRaw|TotalCPU|AllocCPUS|NTasks|NodeList|ReqMem|"
    "MaxRSS|AllocTRES|JobName\n"
)


def test_what_cannot_be_right_of_one_job_is_left_out_and_the_rest_kept(write, imported):
    line = "902|902|COMPLETED|100|110|210|100|1-02:03:04|4|1|n1|4G|16.0E|cpu=4|seg\n"
    table = imported("sacct", write(HEAD + line))[0]
    (row,) = table.rows(named=True)
    assert row["wall_s"] == 100
    assert row["requested_memory_bytes"] == 4 << 30
    assert row.get("cpu_s") is None
    assert row.get("peak_memory_bytes") is None
