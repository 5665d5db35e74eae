"""The plan of a run on a cluster, once the way to get jobs is decided."""

import pytest

from mockruns import site
from pyscale.benchmark import with_allocation
from pyscale.errors import UserError

TWO_PARTITIONS = site(
    request={"partition": "cpu"}, override=[{"stage": "track", "partition": "gpu"}]
)


def test_trials_of_two_partitions_have_jobs_of_their_own(make):
    assert with_allocation(make(), TWO_PARTITIONS).settings["allocation"] == "each"


@pytest.mark.parametrize(
    ("start", "allocation", "told"),
    [("cold", "hold", "cannot hold the trials"), ("warm", None, "--start warm needs one alloc")],
)
def test_what_needs_one_allocation_is_refused_where_there_can_be_none(
    make, start, allocation, told
):
    plan = make(allocation=allocation)
    trials = tuple(trial.model_copy(update={"start": start}) for trial in plan.trials)
    with pytest.raises(UserError, match=told):
        with_allocation(plan.model_copy(update={"trials": trials}), TWO_PARTITIONS)
