import polars as pl
import pytest
from typer.testing import CliRunner

from pyscale.app import app
from pyscale.errors import UserError
from pyscale.traces.command import FORMATS
from refusals import refused

NEXTFLOW = "task_id\tname\tstatus\trealtime\n1\tSEGMENT\tCOMPLETED\t5s\n"
SNAKEMAKE = "s\th:m:s\tmax_rss\n5.0\t0:00:05\t64.0\n"


def test_the_table_is_printed_where_no_file_is_named_and_a_trace_is_never_overwritten(sacct, write):
    sacct.array([0, 0])
    path = write(sacct.text)
    done = CliRunner().invoke(app, ["import", "sacct", str(path)])
    assert done.exit_code == 0
    # Nothing but the table, so that it can be piped.
    table = pl.read_csv(done.stdout.encode())
    assert table["workers"].to_list() == [2, 2]
    assert "found 1 trial" in done.stderr
    done = CliRunner().invoke(app, ["import", "sacct", str(path), "--out", str(path)])
    assert isinstance(done.exception, UserError)
    assert path.read_text() == sacct.text


@pytest.mark.parametrize("said", FORMATS)
@pytest.mark.parametrize(
    "text", ["", b"\x1f\x8b\x08\xff", "<html>", "hello\n"], ids=["empty", "bytes", "page", "text"]
)
def test_what_is_no_trace_is_refused(write, refused, said, text):
    refused(said, write(text), stage="a", workers=1)


def test_files_that_cannot_be_used_are_named(sacct, write, imported, tmp_path):
    sacct.job("7")
    path = write(sacct.text)
    with refused(UserError):
        imported("sacct", tmp_path / "none.txt")
    with refused(UserError):
        imported("sacct", tmp_path)
    with refused(UserError):
        imported("sacct", path, path.parent / "." / path.name)
    with refused(UserError):
        imported("sact", path)


def test_what_cannot_be_one_trace_is_refused_and_no_table_written(sacct, write, imported, tmp_path):
    one = write(sacct.job("7").text, "a.txt")
    both = write(sacct.job("8", start=100).text, "b.txt")
    none = write(type(sacct)().job("7", state="RUNNING").text, "none.txt")
    nextflow = write(NEXTFLOW, "nextflow.txt")
    twice = write(NEXTFLOW + "1\tSEGMENT\tCOMPLETED\t5s\n", "twice.txt")
    unnamed = write(NEXTFLOW + "2\tSEGMENT (\x01)\tCOMPLETED\t5s\n", "unnamed.txt")
    snakemake = write(SNAKEMAKE, "snakemake.txt")
    for said, files, options in (
        ("sacct", [one, both], {}),
        ("sacct", [one, nextflow], {}),
        ("nextflow", [twice], {}),
        ("nextflow", [unnamed], {}),
        ("snakemake", [snakemake], {"workers": 1, "stage": " "}),
        ("sacct", [none], {}),
    ):
        with refused(UserError):
            imported(said, *files, **options)
    assert not (tmp_path / "table.csv").exists()
