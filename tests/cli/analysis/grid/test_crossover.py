"""From which measured size on a device wins, and the ceiling that its ratio reaches."""

import polars as pl
import pytest

from pyscale.analysis.grid.findings import RATIO_SCHEMA, grid_findings_of_table, wins
from pyscale.references.files import read_reference, shipped_folder

LENGTHS_PX = (224, 448, 896, 1344, 2016)


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


def flattening(grid):
    """Steady calls whose ratio is 10 A / (A + 0.1); first ones are alike on both."""
    for length_px in LENGTHS_PX:
        area = length_px**2 / 1e6
        grid.at({"length_px": length_px, "device": "cpu"}, [9.0, area])
        call_s = (area + 0.1) / 10
        grid.at({"length_px": length_px, "device": "cuda"}, [9.0, call_s])


def test_points_that_did_other_work_enter_no_fit(grid):
    flattening(grid)
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
