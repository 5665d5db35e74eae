"""Which slide's turn it is, with slides that only count."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from pyscale_stages.loader.dataset import Pool
from pyscale_stages.loader.params import LoaderParams


class Counting:
    """A slide that gives its name, and knows when it was open."""

    opened: list[str]
    most = 0
    now = 0

    def __init__(self, name):
        type(self).opened.append(name)
        type(self).now += 1
        type(self).most = max(type(self).most, type(self).now)
        self.name = name

    def close(self):
        type(self).now -= 1


@pytest.fixture
def slides():
    class Fresh(Counting):
        opened: list[str] = []  # noqa: RUF012 - of this test alone

    return Fresh


def pool_of(slides, names, size, share, visit):
    """A pool of so many slides, of each so many patches before another comes, and at a visit."""
    params = LoaderParams(pool_size=size, patches_per_slide=share, patches_per_visit=visit)
    return Pool(names, params, np.random.default_rng(5), slides)


def drawn(slides, names, rotation, patches):
    pool = pool_of(slides, names, *rotation)
    return "".join(islice(pool.drawn(lambda slide: slide.name), patches))


def test_the_slides_of_a_pool_take_turns(slides):
    given = drawn(slides, "abc", (3, 100, 1), 9)
    assert set(given[:3]) == {"a", "b", "c"}
    assert given == given[:3] * 3


@pytest.mark.parametrize(
    ("names", "share"),
    [("abc", 100), ("ab", 3)],
    ids=["each of them once", "and those of an order that was begun as far as there is room"],
)
def test_a_pool_larger_than_the_slides_begins_with(slides, names, share):
    given = drawn(slides, names, (8, share, 1), 30)
    assert set(given[: len(names)]) == set(names)
    assert slides.most == 3


def test_a_visit_takes_several_patches_of_one_slide_and_ends_where_the_share_does(slides):
    given = drawn(slides, "ab", (2, 100, 3), 12)
    first, second = given[0], given[3]
    assert given == (first * 3 + second * 3) * 2
    assert first != second
    given = drawn(slides, "abcdef", (1, 2, 5), 12)
    assert [len(set(given[start : start + 2])) for start in range(0, 12, 2)] == [1] * 6


def test_a_slide_that_gave_its_share_makes_room_for_another(slides):
    given = drawn(slides, "abcd", (2, 2, 1), 8)
    assert {name: given.count(name) for name in "abcd"} == dict.fromkeys("abcd", 2)
    assert slides.most == 2


def test_every_pass_over_the_slides_has_an_order_of_its_own_by_the_generator(slides):
    names = "abcdefgh"
    given = drawn(slides, names, (1, 1, 1), 3 * len(names))
    passes = [given[start : start + 8] for start in range(0, 24, 8)]
    assert all(set(one) == set(names) for one in passes)
    assert len(set(passes)) == 3
    assert drawn(slides, "abcde", (2, 3, 2), 50) == drawn(slides, "abcde", (2, 3, 2), 50)


def test_a_slide_with_nothing_to_give_is_replaced(slides):
    pool = pool_of(slides, "ab", 1, 100, 1)
    given = pool.drawn(lambda slide: slide.name if slide.name == "b" else None)
    assert list(islice(given, 4)) == ["b"] * 4
    assert slides.now == 1


def test_a_pool_that_is_left_or_ends_by_an_error_closes_its_slides(slides):
    stream = pool_of(slides, "abc", 3, 100, 1).drawn(lambda slide: slide.name)
    next(stream)
    assert slides.now == 3
    stream.close()
    assert slides.now == 0

    class Brittle(Counting):
        opened: list[str] = []  # noqa: RUF012 - of this test alone

        def __init__(self, name):
            if name == "c":
                raise OSError("c is broken")
            super().__init__(name)

    pool = pool_of(Brittle, "abc", 3, 100, 1)
    with pytest.raises(OSError, match="c is broken"):
        next(pool.drawn(lambda slide: slide.name))
    assert Brittle.now == 0
