"""Ratios compare a point with the same point of the first value, and with no other."""

import pytest

LENGTHS = (224, 448)
CPU = {"length_px": 224, "device": "cpu"}
CUDA = {"length_px": 224, "device": "cuda"}


def test_the_ratio_is_the_bases_time_over_the_own(grid):
    for length_px in LENGTHS:
        grid.at({"length_px": length_px, "device": "cpu"}, [9.0, length_px / 10])
        grid.at({"length_px": length_px, "device": "cuda"}, [18.0, length_px / 40])
    found = grid.found().ratios
    steady, first = found.filter(measure="steady"), found.filter(measure="first")
    assert steady["ratio"].to_list() == [4, 4]
    assert first["ratio"].to_list() == [0.5, 0.5]
    assert steady["length_px"].to_list() == [224, 448]
    assert steady.select("value", "base", "base_s", "value_s").row(0) == ("cuda", "cpu", 22.4, 5.6)
    assert found["ratio_low"].null_count() == found.height


@pytest.mark.parametrize("lost", [0, 1])
def test_six_blocks_that_both_timed_give_an_interval_about_the_ratio(grid, lost):
    for block in range(1, 7 + 2 * lost):
        grid.at(CPU, [9.0, 10.0 + block], block=block)
        if block < 7 + lost:
            grid.at(CUDA, [9.0, 1.0 + block / 10], block=block)
    row = grid.found().ratios.filter(measure="steady").row(0, named=True)
    assert row["trials"] == 6 + lost
    # Blocks are paired, and in each of them the ratio is 10.
    assert (row["ratio_low"], row["ratio_high"]) == pytest.approx((10, row["ratio"]))
    assert lost or row["ratio"] == pytest.approx(10)


def test_a_size_that_one_device_did_not_finish_has_no_ratio(grid):
    for length_px in LENGTHS:
        grid.at({"length_px": length_px, "device": "cpu"}, [9.0, 8.0])
    grid.at({"length_px": 224, "device": "cuda"}, [9.0, 1.0])
    grid.at({"length_px": 448, "device": "cuda"}, [9.0, 1.0], failed=["w0"])
    assert grid.found().ratios.filter(measure="steady")["length_px"].to_list() == [224]


def test_a_ratio_to_a_point_that_did_other_work_is_marked(grid):
    found = grid.at(CPU, [9.0, 8.0], same=False).at(CUDA, [9.0, 1.0]).found()
    assert found.points["invalid"].to_list() == [True, False]
    assert found.ratios["invalid"].to_list() == [True, True]
    assert found.ceilings == found.wins == ()


def test_the_base_is_the_first_value_of_the_suite_and_not_the_first_to_be_measured(grid):
    grid.at(CUDA, [9.0, 1.0]).at(CPU, [9.0, 8.0])
    found = grid.found(entries=grid.entries[::-1])
    assert found.ratios.select("value", "base").row(0) == ("cuda", "cpu")
