"""Which level has the resolution that is asked."""

import pytest

from pyscale_stages.errors import BadInput
from pyscale_stages.slides.reading import open_slide
from pyscale_stages.slides.slide import level_for
from refusals import refused


@pytest.mark.parametrize("mpp", [0.42, 0.5, 0.7, 0.75, 0.76, 1, 1.4, 1.6, 2, 3, 4.9])
def test_the_level_nearest_to_what_is_asked_is_the_one_that_wsistream_takes(make_svs, mpp):
    backends = pytest.importorskip("wsistream.backends")
    from wsistream.slide import SlideHandle

    path = make_svs()
    found = level_for(open_slide(path), mpp)
    with SlideHandle(path, backends.OpenSlideBackend()) as theirs:
        assert found == theirs.best_level_for_mpp(mpp)


def test_pixels_without_a_size_cannot_be_asked_for_one_and_nothing_asked_is_the_finest_level(
    make_svs,
):
    assert level_for(open_slide(make_svs(mpp="")), None) == 0
    with refused(BadInput):
        level_for(open_slide(make_svs(mpp="")), 0.5)


@pytest.mark.parametrize("mpp", [0.25, 0.39, 5.1, 40])
def test_a_magnification_that_the_slide_lacks_is_refused_with_those_it_has(make_svs, mpp):
    with refused(BadInput):
        level_for(open_slide(make_svs()), mpp)
