from __future__ import annotations

import json

import polars as pl
import pytest

from pyscale_stages.errors import BadInput
from pyscale_stages.machine.timingtable import TYPES, read_table, timings_table
from pyscale_stages.timing import Timing


def test_the_table_holds_the_timings_of_the_record(bench):
    result = bench.run("run")
    table = read_table(bench.folder / "out")
    back = [
        Timing(**{**row, "details": json.loads(row["details"])})
        for row in table.select(*Timing.model_fields).iter_rows(named=True)
    ]
    assert back == list(result.timings)
    assert len(back) == result.counters.objects
    assert set(table["worker"]) == {0}
    assert set(table["device"]) == {None}, "a processor computed"


def test_details_are_json_so_that_every_test_may_have_its_own():
    given: tuple[dict[str, float], ...] = {"iops": 3.0}, {}, {"frames": 1.0, "cpu_s": 0.5}
    timings = [Timing(test="t", repeat=0, wall_s=1.0, details=details) for details in given]
    table = timings_table(timings)
    assert [json.loads(text) for text in table["details"]] == list(given)


def test_a_stage_may_have_columns_of_its_own_and_none_at_all_is_a_table_too():
    table = timings_table([Timing(test="t", repeat=0, wall_s=1.0)], {"sha256": ["12ab"]})
    assert table.columns == [*TYPES, "sha256"]
    assert table["sha256"].to_list() == ["12ab"]
    assert (
        timings_table([]).schema
        == timings_table([Timing(test="t", repeat=0, wall_s=None, why_not="x")]).schema
    )


@pytest.mark.parametrize("content", [None, b"no table"])
def test_a_missing_or_damaged_table_is_told(tmp_path, content):
    if content is not None:
        (tmp_path / "timings.parquet").write_bytes(content)
    with pytest.raises(BadInput, match=r"timings.parquet is missing or damaged"):
        read_table(tmp_path)


def test_another_table_is_told(tmp_path):
    pl.DataFrame({"worker": [0], "cell": [1]}).write_parquet(tmp_path / "timings.parquet")
    with pytest.raises(BadInput, match="has no column 'test'"):
        read_table(tmp_path)
