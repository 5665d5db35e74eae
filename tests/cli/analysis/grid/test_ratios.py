"""From which measured size on a device wins, and the ceiling that its ratio reaches."""

import numpy as np
import polars as pl
import pytest

from pyscale.analysis.grid.findings import RATIO_SCHEMA, grid_findings_of_table, saturation, wins
from pyscale.references.files import read_reference, shipped_folder

SIZES_PX = (224, 448, 896, 1344, 2016)


@pytest.fixture(scope="module")
def published():
    """Ceilings of the published sweep, by device."""
    loaded = read_reference(shipped_folder() / "cellpose-devices.toml")
    (grid,) = grid_findings_of_table(loaded.table, "published")
    return {one.value: one for one in grid.ceilings}


def test_the_published_ratios_flatten_at_about_11_and_3_and_a_half(published):
    rtx, m1 = published["desktop-gpu-rtx4070"], published["macbook-m1-mps"]
    assert rtx.ceiling == pytest.approx(11.4, rel=0.05)
    assert m1.ceiling == pytest.approx(3.4, rel=0.05)
    assert (rtx.base, m1.base) == ("desktop-cpu-i7-8086K", "macbook-m1-cpu")
    for one, width in ((rtx, 0.06), (m1, 0.09)):
        assert one.shape == "flattens"
        assert one.low < one.ceiling < one.high
        assert one.high - one.low < 2 * width * one.ceiling
        assert (one.sizes, one.smallest_px, one.largest_px) == (10, 224, 2351)


def level_off(grid):
    """Steady calls whose ratio is 10 A / (A + 0.1); first ones are alike on both."""
    for length_px in SIZES_PX:
        area = length_px**2 / 1e6
        grid.at({"length_px": length_px, "device": "cpu"}, [9.0, area])
        call_s = (area + 0.1) / 10
        grid.at({"length_px": length_px, "device": "cuda"}, [9.0, call_s])


def test_points_that_did_other_work_enter_no_fit(grid):
    level_off(grid)
    grid.at({"length_px": 3000, "device": "cpu"}, [9.0, 9.0])
    grid.at({"length_px": 3000, "device": "cuda"}, [9.0, 900.0], same=False)
    (steady,) = (one for one in grid.found().ceilings if one.measure == "steady")
    assert (steady.sizes, steady.largest_px) == (5, 2016)
    assert steady.ceiling == pytest.approx(10)


def test_over_another_axis_than_size_there_is_no_ceiling(grid):
    for batch_size in (1, 2, 4, 8):
        for device in ("cpu", "cuda"):
            grid.at({"length_px": 224, "batch_size": batch_size, "device": device}, [9.0, 1.0])
    found = grid.found(against="batch_size")
    assert found.ceilings == ()
    assert found.ratios["ratio"].len() == 8
    assert set(found.points["series"]) == {""}


def curve(*rows):
    about = {
        "suite": "s",
        "family": "f",
        "series": "",
        "workers": 1,
        "value": "cuda",
        "base": "cpu",
        "measure": "steady",
        "invalid": False,
    }
    table = [
        about | {"length_px": length_px, "ratio": ratio, "ratio_low": low}
        for length_px, ratio, low in rows
    ]
    (found,) = wins(pl.DataFrame(table, schema=RATIO_SCHEMA))
    return found


@pytest.mark.parametrize(
    ("rows", "from_px", "not_at_px", "sure"),
    [
        ([(224, 0.5, 0.4), (448, 1.5, 1.2), (672, 3.0, 2.5)], 448, 224, True),
        ([(224, 1.5, 1.2), (448, 2.0, 1.5)], 224, None, True),
        ([(224, 1.2, 0.9), (448, 2.0, 1.5)], 448, 224, True),
        ([(224, 2.0, 1.9), (448, 0.9, 0.8), (672, 3.0, 2.5)], 672, 448, True),
        ([(224, 2.0, 1.9), (448, 0.9, 0.8)], None, 448, False),
        ([(224, 0.5, None), (448, 1.5, None)], 448, 224, False),
        ([(448, 1.5, None), (224, 0.5, 0.4)], 448, 224, False),
        ([(224, 1.0, None), (448, 1.5, 1.0), (672, 3.0, 2.5)], 672, 448, True),
    ],
)
def test_it_wins_from_the_first_size_above_the_last_at_which_it_may_lose(
    rows, from_px, not_at_px, sure
):
    found = curve(*rows)
    assert (found.from_px, found.not_at_px, found.sure) == (from_px, not_at_px, sure)


LENGTHS = (224, 448)
CPU = {"length_px": 224, "device": "cpu"}
CUDA = {"length_px": 224, "device": "cuda"}


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


LENGTHS_PX = np.array([*range(224, 2017, 224), 2351])
AREA = LENGTHS_PX**2 / 1e6
FEW = AREA[[0, 1, 3, 5, 8]]
SEEDS = 100


def flattening(ceiling, half, area=AREA):
    return ceiling * area / (area + half)


def noisy(ratios, seed, error=0.04):
    scatter = np.random.default_rng(seed).lognormal(0, error, len(ratios))
    return list(ratios * scatter)


@pytest.mark.parametrize(
    ("sizes", "half"),
    [(AREA, 0.05), (AREA, 0.1), (AREA, 1.0), (FEW, 0.05), (FEW, 0.1)],
    ids=["ten, early", "ten", "ten, late", "five, early", "five"],
)
def test_the_interval_holds_the_ceiling_in_95_of_100_simulations(sizes, half):
    true = flattening(11.4, half, sizes)
    all_found = [saturation(list(sizes), noisy(true, seed)) for seed in range(SEEDS)]
    held = [one.low <= 11.4 <= one.high for one in all_found if one.low and one.high]
    assert len(held) == SEEDS
    # Of 100 draws at 95 %, fewer than 89 come once in a hundred.
    assert sum(held) >= 89


def test_a_noisy_curve_that_flattens_is_hardly_ever_called_logarithmic():
    shapes = [saturation(list(AREA), noisy(flattening(11.4, 0.1), s)).shape for s in range(SEEDS)]
    assert "logarithmic" not in shapes
    assert shapes.count("flattens") >= 90


@pytest.mark.parametrize(("level", "slope"), [(9.5, 1.5), (3.1, 0.35), (5.0, 1.0)])
def test_a_logarithm_is_never_called_flattening(level, slope):
    logarithm = level + slope * np.log(AREA)
    all_found = [saturation(list(AREA), noisy(logarithm, seed)) for seed in range(SEEDS)]
    shapes = [one.shape for one in all_found]
    assert "flattens" not in shapes
    assert shapes.count("logarithmic") >= 80
    for one in all_found:
        if one.shape == "logarithmic":
            assert one.ceiling is None


def test_where_both_laws_fit_alike_nothing_is_decided():
    found = saturation(list(AREA), noisy(np.full(len(AREA), 4.0), 1))
    assert found.shape == "undecided"
    assert found.ceiling == pytest.approx(4, rel=0.1)


JUMPING = np.where(np.arange(len(AREA)) % 2, 9.0, 3.0)


@pytest.mark.parametrize(
    "ratios",
    [
        flattening(11.4, 0.1)[:3],
        noisy(8.0 - AREA, 0, error=0.01),
        noisy(flattening(100.0, 50.0), 0, error=0.01),
        JUMPING,
    ],
    ids=["three sizes", "falling", "still growing like the area", "of another form"],
)
def test_ratios_that_do_not_tell_a_ceiling_have_none(ratios):
    found = saturation(list(AREA[: len(ratios)]), list(ratios))
    assert (found.ceiling, found.low, found.high) == (None, None, None)
