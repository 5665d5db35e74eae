"""Slurm counts energy by node: a job's is believed only where it can be that job's."""

import pytest

from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.errors import UserError
from pyscale.report.table import read_wall_times
from pyscale.traces.sacct import job_energy_j
from refusals import refused

NO_VALUE, NO_VALUE_LONG = 4294967294, 18446744073709551614


@pytest.mark.parametrize(
    ("own", "steps", "nodes", "energy_j"),
    [
        (1200, (), 1, 1200),
        # The batch and the external step each count the whole node: their sum is no energy.
        (2400, (1190, 1200), 1, 1200),
        (None, (1190, None), 1, 1190),
        (0, (0, 0), 1, None),
        (1200, (0,), 1, 1200),
        (NO_VALUE, (NO_VALUE,), 1, None),
        (NO_VALUE_LONG, (), 1, None),
        (None, (), 1, None),
        (-5, (), 1, None),
        # 1 MW are too much for nine nodes and not for ten.
        (60_000_000, (), 9, None),
        (60_000_000, (), 10, 60_000_000),
    ],
)
def test_the_largest_step_is_the_job_s_energy_unless_it_was_not_measured(
    own, steps, nodes, energy_j
):
    assert job_energy_j(own, steps, wall_s=60, nodes=nodes) == energy_j


def test_energy_is_imported_and_said_to_be_the_nodes(sacct, write, imported, tmp_path):
    sacct.job("7", energy=(3000, 3000)).job("8", start=100, energy=(0, 0))
    table, said = imported("sacct", write(sacct.text))
    assert table["energy_j"].to_list() == [3000, None]
    assert "energy of whole nodes" in said
    trials = trials_from_wall_times(read_wall_times(tmp_path / "table.csv"))
    assert trials["energy_j"].to_list() == [3000, None]


@pytest.mark.parametrize(
    ("jobs", "energies"),
    [
        (
            [("n1", 0, 60), ("n1", 30, 60), ("n2", 30, 60), ("n1", 90, 60)],
            [None, None, 500, 500],
        ),
        # One within a longer one shared its node also where another lies between.
        (
            [("n1", 0, 200), ("n1", 10, 20), ("n1", 100, 20), ("n1", 300, 20)],
            [None, None, None, 500],
        ),
    ],
)
def test_of_jobs_that_shared_a_node_nobody_knows_whose_energy_it_was(
    sacct, write, imported, jobs, energies
):
    for job, (node, start, wall) in enumerate(jobs):
        sacct.job(str(job), node=node, start=start, wall=wall, energy=(500, 500))
    table, _ = imported("sacct", write(sacct.text))
    found = dict(zip(table["task"], table["energy_j"], strict=True))
    assert [found[str(job)] for job in range(4)] == energies


def test_without_energy_nothing_is_said_of_it_and_what_is_none_is_refused(sacct, write, imported):
    sacct.job("7")
    table, said = imported("sacct", write(sacct.text))
    assert table["energy_j"].to_list() == [None]
    assert "energy of whole nodes" not in said
    sacct.job("8", start=100, energy=("3.1K", ""))
    with refused(UserError):
        imported("sacct", write(sacct.text))
