import json
import math

import numpy as np
import pytest

DIAMETER_PX = 2 * math.sqrt(25 / math.pi)
"""Of the cells of 5 x 5 px that `label_movie` draws."""
GIVEN = {"max_distance_px": 7, "gap_distance_px": 8, "splitting_distance_px": 9}


def distances(folder):
    return json.loads((folder / "distances.json").read_text())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (DIAMETER_PX, DIAMETER_PX, DIAMETER_PX, DIAMETER_PX)),
        ({"splitting_distance_px": 9}, (DIAMETER_PX, DIAMETER_PX, 9, DIAMETER_PX)),
        (GIVEN, (*GIVEN.values(), None)),
    ],
)
def test_what_is_not_given_is_the_diameter_and_all_are_recorded(
    given, expected, label_movie, bench
):
    labels = label_movie([[], [(20, 20)], [(20, 21)]])
    found = distances(bench.done("run", labels, **given))
    names = [f"{kind}_distance_px" for kind in ("max", "gap", "splitting")]
    assert list(found) == [*names, "median_diameter_px"]
    assert tuple(found.values()) == pytest.approx(expected)


def test_every_window_works_with_the_distances_of_the_movies_first_cells(bench, movie_of):
    labels = np.zeros((12, 64, 64), dtype=np.uint16)
    labels[1:6, 8:12, 8:12] = 1
    labels[6:, 8:40, 8:40] = 1
    parts = bench.windows(movie_of(labels), (0, 1), (1, 10), (10, 12))
    merged = bench.done("merge", *parts, output="merged")
    assert distances(parts[2])["median_diameter_px"] == pytest.approx(2 * math.sqrt(16 / math.pi))
    for part in parts:
        assert distances(part) == distances(merged)


@pytest.mark.parametrize(
    ("step_px", "limit_px", "said"),
    [
        (2, 8, None),
        (2, 2.1, "33 of 33 moves between two frames are nearly as far as the limit of 2.1 px"),
        (6, 5, "33 of 33 cells have no link to an earlier cell"),
    ],
)
def test_links_cut_at_the_limit_are_said_with_what_to_raise(
    step_px, limit_px, said, label_movie, bench
):
    labels = label_movie([[(y, 10 + step_px * t) for y in (10, 40, 70)] for t in range(12)])
    warnings = bench.run("run", labels, max_distance_px=limit_px).warnings
    assert len(warnings) == (said is not None)
    assert all(said in warning and "raise max_distance_px" in warning for warning in warnings)


def test_cells_that_jump_out_of_their_outline_are_for_the_other_backend(label_movie, bench):
    labels = label_movie([[(y, 10 + 8 * t) for y in (10, 40, 70)] for t in range(12)])
    (warning,) = bench.run("run", labels, backend="overlap").warnings
    assert 'choose backend = "laptrack"' in warning
    assert not (bench.folder / "out" / "distances.json").exists()
