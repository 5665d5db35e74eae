import json

import polars as pl
import pytest

from pyscale_stages.errors import BadInput
from pyscale_stages.machine.timingtable import read_table
from pyscale_stages.timing import Timing
from refusals import refused


def test_the_table_holds_the_timings_of_the_record(bench):
    result = bench.run("run")
    table = read_table(bench.folder / "out")
    back = [
        Timing(**{**row, "details": json.loads(row["details"])})
        for row in table.select(*Timing.model_fields).iter_rows(named=True)
    ]
    assert back == list(result.of(Timing))
    assert len(back) == result.counters.objects
    assert set(table["worker"]) == {0}
    assert set(table["device"]) == {None}, "a processor computed"


@pytest.mark.parametrize("content", [None, b"no table"])
def test_a_missing_or_damaged_table_is_told(tmp_path, content):
    if content is not None:
        (tmp_path / "timings.parquet").write_bytes(content)
    with refused(BadInput):
        read_table(tmp_path)


def test_another_table_is_told(tmp_path):
    pl.DataFrame({"worker": [0], "cell": [1]}).write_parquet(tmp_path / "timings.parquet")
    with refused(BadInput):
        read_table(tmp_path)


@pytest.fixture
def quick(bench_of):
    """A stage that does little: no other one is quicker."""
    return bench_of("kernels", tests=["allocation"])


@pytest.fixture
def outputs(quick):
    """Outputs of three workers."""
    return [
        quick.done("run", output=f"worker{n}", frames=(n, n + 1), movie_frames=3) for n in range(3)
    ]


def test_every_row_of_every_worker_is_kept_with_its_number(quick, outputs):
    # In any order.
    merged = quick.done("merge", *reversed(outputs), output="merged")
    table = pl.read_parquet(merged / "timings.parquet")
    for worker, folder in enumerate(outputs):
        part = pl.read_parquet(folder / "timings.parquet")
        assert table.filter(worker=worker).drop("worker").equals(part.drop("worker"))
    assert len(table) == 3 * len(part)
    window = json.loads((merged / "window.json").read_text())
    assert (window["frames"], window["movie_frames"]) == ([0, 3], 3)


@pytest.mark.parametrize(
    "wrong",
    [
        "twice",
        "params",
        "stage",
        "broken",
        "nothing",
    ],
)
def test_what_cannot_be_joined_is_refused(quick, bench_of, outputs, wrong):
    given = {"twice": [outputs[0], outputs[0]], "nothing": []}.get(wrong, outputs[:1])
    if wrong == "broken":
        (outputs[0] / "timings.parquet").write_bytes(b"no table")
    by = bench_of("decompress") if wrong == "stage" else quick
    by.refused("merge", *given, **({"particles": 8} if wrong == "params" else {}))


def test_two_runs_agree_whatever_their_times_and_with_another_seed_they_do_not(bench):
    one, two, other = (
        bench.done("run", output=name, seed=seed)
        for name, seed in (("one", 0), ("two", 0), ("other", 1))
    )
    found = bench.agreement(one, two)
    assert (found.same, found.identical, found.score) == (True, False, 1)
    assert not bench.agreement(one, other).same
