"""Elements that Slurm tells together are all found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscale.slurm.jobids import array_of, elements


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("17", ["17"]),
        ("17_3", ["17_3"]),
        ("17_[3]", ["17_3"]),
        ("17_[0-2%2]", ["17_0", "17_1", "17_2"]),
        ("17_[1,5-6]", ["17_1", "17_5", "17_6"]),
        ("17_[20-60:20]", ["17_20", "17_40", "17_60"]),
    ],
)
def test_an_expression_means_its_elements(told: str, meant: list[str]) -> None:
    assert elements(told) == meant


PARTS = st.tuples(st.integers(0, 999), st.integers(0, 40), st.integers(1, 9))


@given(st.lists(PARTS, min_size=1, max_size=20), st.sampled_from(["", "%1", "%800"]))
def test_every_element_of_every_part_is_found(
    parts: list[tuple[int, int, int]], at_once: str
) -> None:
    told = ",".join(f"{first}-{first + more * step}:{step}" for first, more, step in parts)
    meant = [first + i * step for first, more, step in parts for i in range(more + 1)]
    assert elements(f"8_[{told}{at_once}]") == [f"8_{index}" for index in meant]


def test_an_expression_that_was_cut_short_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        elements("17_[1,3,5,...]")


def test_an_element_belongs_to_its_array() -> None:
    assert [array_of(job_id) for job_id in ("17", "17_3")] == ["17", "17"]
