"""What ranks that wait for each other cannot be asked."""

import pytest

from pyscale.benchmark import plan_run
from pyscale.errors import UserError
from pyscale.planning import warn_of_too_many_workers
from pyscale.runsettings import settings_for


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """Plan what is named of the suite reconstruct, on some numbers of ranks."""
    monkeypatch.chdir(tmp_path)

    def plan(only, workers, **flags):
        given = {"repeats": 1, "runs_folder": tmp_path / "runs", "workers": workers, **flags}
        return plan_run("reconstruct", settings_for("reconstruct", given), [only])

    return plan


def test_an_image_of_fewer_tiles_than_ranks_is_named_where_another_has_enough(planned):
    (told,) = warn_of_too_many_workers(planned("colour_deblur", "1,8"))
    assert told.startswith(
        "colour_deblur_256px will fail with N = 8: 8 ranks cannot share the 4 tiles of 128 px of "
        "an image of 256 x 256 pixels: "
    )
    assert not list(warn_of_too_many_workers(planned("tomography_3d", "1,8")))


def test_ranks_for_which_no_image_has_tiles_are_refused(planned):
    with pytest.raises(UserError, match="^colour_deblur_256px: 8 ranks cannot share the 4 tiles"):
        list(warn_of_too_many_workers(planned("colour_deblur_256px", "1,8")))


def test_an_image_smaller_than_a_tile_is_refused_but_to_one_rank(planned):
    small = {"grid": {"size_px": [64]}}
    assert not list(warn_of_too_many_workers(planned("colour_deblur", "1", **small)))
    with pytest.raises(UserError, match="does not fit an image of 64 x 64 pixels"):
        list(warn_of_too_many_workers(planned("colour_deblur", "1,2", **small)))
