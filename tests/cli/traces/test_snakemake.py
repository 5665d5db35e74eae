import json

import pytest

from pyscale.errors import UserError
from refusals import refused

PLAIN = [
    *("s", "h:m:s", "max_rss", "max_vms", "max_uss", "max_pss", "io_in", "io_out", "mean_load"),
    "cpu_time",
]
EXTENDED = [*PLAIN, "jobid", "rule_name", "wildcards", "params", "threads", "resources"]


def table_of(header, *lines):
    return "\n".join("\t".join(line) for line in (header, *lines)) + "\n"


def plain(seconds):
    return [str(seconds), "0:00:06", "64.00", "77.88", "6.0", "6.0", "0.0", "-", "0.0", "5.50"]


def extended(seconds):
    return [*plain(seconds), "1", "segment", "{'w': '0'}", "{}", "1", "{'mem_mib': 287}"]


PLAINLY = {"workers": 1, "stage": "a"}


def rows(table):
    return table.select("stage", "workers", "repeat", "wall_s").rows()


def test_the_lines_of_a_file_are_repeats_and_files_tasks_even_of_one_name(write, imported):
    files = [write(table_of(PLAIN, plain(3), plain(4)), f"{folder}/w.tsv") for folder in "ab"]
    table = imported("snakemake", *files, workers=2, stage="segment")[0]
    assert rows(table) == [
        ("segment", 2, 0, 3),
        ("segment", 2, 0, 3),
        ("segment", 2, 1, 4),
        ("segment", 2, 1, 4),
    ]
    assert table["task"].n_unique() == 2


def test_jobs_of_one_worker_are_added_up(write, imported):
    files = [write(table_of(PLAIN, plain(3)), f"w{n}.tsv") for n in range(2)]
    table, said = imported("snakemake", *files, workers=1, stage="segment")
    assert rows(table) == [("segment", 1, 0, 6)]
    assert "added up" in said


def test_what_was_too_short_to_be_looked_at_has_a_time_all_the_same(write, imported):
    line = ["0.21", "0:00:00", *["NA"] * 8]
    row = imported("snakemake", write(table_of(PLAIN, line)), workers=1, stage="a")[0]
    assert row.select("wall_s", "peak_memory_bytes", "cpu_s").row(0) == (0.21, None, None)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param(table_of(PLAIN, plain(3)), {"workers": 1}, id="--benchmark-extended"),
        pytest.param(
            table_of(EXTENDED, extended(3)), {"stage": "a", "workers": 1}, id="leave out --stage"
        ),
        pytest.param(
            table_of(PLAIN, plain("0:34:10")), {"workers": 1}, id="s 0:34:10 is not a number"
        ),
        pytest.param(
            table_of(PLAIN, plain(3)).replace("64.00", "nan"), PLAINLY, id="nan is not a num"
        ),
        pytest.param(table_of(PLAIN, plain(3)).replace("64.00", "1e99"), PLAINLY, id="_bytes of"),
        pytest.param(table_of(PLAIN, plain("-5")), PLAINLY, id="s -5 is not a number of seconds"),
        pytest.param(table_of(PLAIN, plain("1e-320")), PLAINLY, id="wall_s of"),
        pytest.param(table_of(PLAIN, plain(3)[:4]), PLAINLY, id="4 columns, but the header 10"),
    ],
)
def test_what_is_wrong_with_a_benchmark_is_said_in_one_sentence(write, refused, text, options):
    refused("snakemake", write(text), **options)


def test_how_many_ran_at_once_must_be_given(write, imported, capsys):
    with refused(UserError):
        imported("snakemake", write(table_of(EXTENDED, extended(3))))
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
