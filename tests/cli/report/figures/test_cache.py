import pytest

from drawn import caption, layers
from pyscale.report.figures import NothingToDrawError, cache


def reading(new_run, results_of, state, seconds, **changes):
    run = new_run()
    for n in (1, 2):
        own = [{"read": seconds / n, "compute": 10.0 / n}] * n
        run.trial("segment", own, cache_state=state, **changes)
    return results_of(run)


@pytest.fixture
def cold(new_run, results_of):
    return reading(new_run, results_of, "verified-cold", 4.0)


@pytest.fixture
def warm(new_run, results_of):
    return reading(new_run, results_of, "warm", 1.0)


def test_a_warm_run_stands_beside_a_cold_one_in_other_shapes(cold, warm):
    plot = cache(cold, warm)
    (marks,) = layers(plot, "geom_point")
    one, other = (marks.data[marks.data["state"] == state] for state in ("cold, proved", "warm"))
    assert other["read_s"].tolist() == pytest.approx([1.0, 1.0])
    assert set(one["at"]).isdisjoint(other["at"])
    (shape,) = [scale for scale in plot.scales if "shape" in scale.aesthetics]
    assert shape.limits == ["cold, proved", "warm"]
    assert len(set(shape.palette(len(shape.limits)))) == 2
    assert "side by side" in caption(plot)
    assert "side by side" not in caption(cache(cold))


def test_a_table_of_wall_times_has_nothing_to_draw(of_table):
    with pytest.raises(NothingToDrawError, match="page cache"):
        cache(of_table(["a"]))
