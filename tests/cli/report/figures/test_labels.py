"""No label of any figure touches another, however many panels, workers and letters there are."""

import polars as pl
import pytest

from drawn import assert_labels_stand_apart
from pyscale.report.figures import (
    cache,
    losses,
    speedup,
    timeline,
    wall_time,
)

pytestmark = pytest.mark.slow

LONG = "registration_and_denoising_of_long_movies_channel_{}"
POWERS = tuple(2**power for power in range(10))
WIDTHS = [88, 180]


@pytest.mark.parametrize("width_mm", WIDTHS)
@pytest.mark.parametrize(
    ("stages", "counts"),
    [
        *(([LONG.format(place) for place in range(panels)], POWERS) for panels in (1, 4, 6)),
        # Counts that lie close together.
        (["a"], (1, 5, 6, 7, 8, 9, 10, 11, 12, 100, 104, 108)),
    ],
    ids=["1 panel", "4 panels", "6 panels", "close"],
)
def test_with_long_names_and_up_to_512_workers(of_table, stages, counts, width_mm):
    results = of_table(stages, counts, tasks=1)
    for draw in (wall_time, speedup):
        assert_labels_stand_apart(draw(results, width_mm=width_mm))


@pytest.mark.parametrize("width_mm", WIDTHS)
@pytest.mark.parametrize("which", ["full", "thin", "broken"])
def test_of_a_pipeline(request, which, width_mm):
    results = request.getfixturevalue(which)
    for draw in (wall_time, speedup, losses):
        assert_labels_stand_apart(draw(results, width_mm=width_mm))


@pytest.mark.parametrize("width_mm", WIDTHS)
@pytest.mark.parametrize("panels", [1, 4, 6])
def test_of_losses_with_long_names(on_nodes, panels, width_mm):
    results = on_nodes([LONG.format(place) for place in range(panels)], 4)
    assert_labels_stand_apart(losses(results, width_mm=width_mm))
    assert_labels_stand_apart(cache(results, width_mm=width_mm))


@pytest.mark.parametrize("width_mm", WIDTHS)
def test_of_losses_at_many_counts(of_table, width_mm):
    """Times of whole tasks are known where the mean of each trial's is."""
    results = of_table(["a", "b", "c"], POWERS, mean_task_s=pl.col("wall_s") * 0.9)
    assert_labels_stand_apart(losses(results, width_mm=width_mm))


@pytest.mark.parametrize("width_mm", WIDTHS)
@pytest.mark.parametrize(
    ("stages", "workers", "nodes"), [(1, 8, 2), (2, 8, 8), (4, 4, 1), (6, 2, 2), (1, 64, 64)]
)
def test_of_a_timeline(on_nodes, stages, workers, nodes, width_mm):
    names = [f"node{place:03d}" for place in range(nodes)]
    results = on_nodes([LONG.format(place) for place in range(stages)], workers, names)
    assert_labels_stand_apart(timeline(results, width_mm=width_mm))
