"""From published times the analysis comes to the published efficiencies, and to an answer."""

import polars as pl
import pytest

from pyscale.analysis.ranks.components import (
    SCALING_SCHEMA,
    knees,
    published_scaling,
    tiled_work,
)
from pyscale.references.files import load_reference

SIZE_AND_N = ["image_size", "gpus"]


@pytest.fixture(scope="module")
def published(references):
    """The table with the efficiencies that were published."""
    return pl.read_csv(references / "deepinverse_scaling_v100.csv")


@pytest.fixture(scope="module")
def scaling(tmp_path_factory):
    """What follows from the times of the reference that comes with pyscale."""
    nothing_else = tmp_path_factory.mktemp("references")
    return published_scaling(load_reference("deepinverse-v100", nothing_else).table)


def test_the_scaling_of_the_reference_has_the_published_columns(published, scaling):
    total = scaling.filter(component="total").rename({"size_px": "image_size", "workers": "gpus"})
    both = total.join(published, on=SIZE_AND_N, suffix="_told", validate="1:1")
    assert both.height == published.height
    for ours, told in (
        ("speedup", "speedup_told"),
        ("work_multiplier", "work_multiplier_told"),
        ("baseline_workers", "baseline_gpus"),
    ):
        assert both[ours].to_list() == pytest.approx(both[told].to_list(), rel=5e-4)
    for ours, told in (
        ("efficiency", "efficiency_pct"),
        ("normalised_efficiency", "work_normalised_efficiency_pct"),
    ):
        assert (100 * both[ours]).to_list() == pytest.approx(both[told].to_list(), rel=5e-4)


def test_gpus_at_the_knee_are_advised(scaling):
    answers = knees(scaling)
    advised = {answer.row["size_px"]: answer.row["workers"] for answer in answers}
    assert advised == {2048: 32, 4096: 32, 8192: 32}
    largest = answers[-1]
    assert (largest.base["workers"], largest.following["workers"]) == (2, 64)
    assert largest.row["efficiency"] == pytest.approx(0.4955, rel=1e-4)
    assert largest.limit["component"] == "overhead"


def test_an_n_without_all_components_and_other_stages_are_left_out():
    table = pl.DataFrame(
        {
            "stage": ["total_64_px", "physics_64_px", "segment"],
            "workers": [1, 1, 1],
            "wall_s": [1.0, 0.5, 3.0],
        }
    )
    assert published_scaling(table).is_empty()
    assert published_scaling(table).schema == pl.Schema(SCALING_SCHEMA)


@pytest.mark.parametrize(
    ("size_px", "dims", "work"), [(2048, 2, 1.5625), (8192, 2, 1.410156), (448, 3, (8 / 7) ** 3)]
)
def test_tiles_with_margins_are_more_pixels(size_px, dims, work):
    found = tiled_work(size_px, tile_px=448, overlap_px=32, dims=dims)
    assert found == pytest.approx(work, rel=1e-6)
