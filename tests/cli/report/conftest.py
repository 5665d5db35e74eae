"""A whole pipeline that is made up, and runs of two stages."""

import pytest

from browser.reports import broken_run
from madeuppipeline import IN_A_RUN, pipeline
from runbuilder import RunBuilder


@pytest.fixture(scope="session")
def full():
    """Four stages at N = 1, 2, 4 and 8, six repeats each."""
    return pipeline((1, 2, 4, 8), 6)


@pytest.fixture(scope="session")
def thin():
    """What a first look leaves: N = 1 and 2, two repeats each, warm, oversubscribed."""
    return pipeline((1, 2), 2, cache_state="warm", oversubscribed=True)


@pytest.fixture(scope="session")
def broken():
    """Two stages at N = 1, 2 and 4, six repeats each; track at N = 4 disagrees in its last one."""
    return broken_run().results()


@pytest.fixture(scope="session")
def context():
    return IN_A_RUN


@pytest.fixture(scope="session")
def uneven():
    """Segment and track at N = 1 and 2, six repeats; at N = 2 one worker of segment is slow."""
    run = RunBuilder()
    for block in range(6):
        late_s = 3.0 + 0.1 * block
        run.trial("segment", [{"read": 1.0, "compute": 10.0}], block=block, agreement=1.0)
        run.trial(
            "segment",
            [{"read": 0.5, "compute": 5.0}, {"read": 0.5, "compute": 5.0 + late_s}],
            block=block,
            merge={"merge": 0.25},
            nodes=("node2", "node1"),
            agreement=1.0,
        )
        run.trial("track", [{"compute": 4.0 + 0.1 * block}], block=block, agreement=1.0)
        run.trial("track", [{"compute": 2.0}] * 2, block=block, agreement=0.5, same=False)
    return run.results_with_timeline()
