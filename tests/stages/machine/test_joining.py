from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from stagetasks import Bench


@pytest.fixture
def bench(bench_of: Callable[..., Bench]) -> Bench:
    """A stage that does little: no other one is quicker."""
    return bench_of("kernels", tests=["triad"])


@pytest.fixture
def outputs(bench: Bench) -> list[Path]:
    """Outputs of three workers."""
    return [
        bench.done("run", output=f"worker{n}", frames=(n, n + 1), movie_frames=3) for n in range(3)
    ]


def test_every_row_of_every_worker_is_kept_with_its_number(bench, outputs):
    # In any order.
    merged = bench.done("merge", *reversed(outputs), output="merged")
    table = pl.read_parquet(merged / "timings.parquet")
    for worker, folder in enumerate(outputs):
        part = pl.read_parquet(folder / "timings.parquet")
        assert table.filter(worker=worker).drop("worker").equals(part.drop("worker"))
    assert len(table) == 3 * len(part)
    window = json.loads((merged / "window.json").read_text())
    assert (window["frames"], window["movie_frames"]) == ([0, 3], 3)


def test_what_was_joined_can_be_joined_again(bench, outputs):
    two = bench.done("merge", *outputs[:2], output="two")
    table = pl.read_parquet(bench.done("merge", two, outputs[2]) / "timings.parquet")
    assert table["worker"].unique(maintain_order=True).to_list() == [0, 1, 2]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("twice", "is given twice"),
        ("params", "was computed with other parameters"),
        ("stage", "is the output of kernels, not of decompress"),
        ("broken", "missing or damaged"),
        ("nothing", "at least one output of the workers"),
    ],
)
def test_what_cannot_be_joined_is_refused(bench, bench_of, outputs, wrong, said):
    given = {"twice": [outputs[0], outputs[0]], "nothing": []}.get(wrong, outputs[:1])
    if wrong == "broken":
        (outputs[0] / "timings.parquet").write_bytes(b"no table")
    by = bench_of("decompress") if wrong == "stage" else bench
    assert said in by.refused("merge", *given, **({"launches": 6} if wrong == "params" else {}))
