from typing import get_args

from pyscale.report.machine.words import BOTTLENECKS
from pyscale_stages.timing import Bottleneck


def test_every_bottleneck_that_a_stage_may_name_is_explained():
    assert set(BOTTLENECKS) == set(get_args(Bottleneck))


def test_tags_are_short_and_told_apart():
    tags = [explained.text for explained in BOTTLENECKS.values()]
    assert len(set(tags)) == len(tags)
    assert max(map(len, tags)) <= 20
    assert all(explained.why.endswith(".") for explained in BOTTLENECKS.values())
