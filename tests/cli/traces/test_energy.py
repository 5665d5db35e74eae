"""Slurm counts energy by node: a job's is believed only where it can be that job's."""

from __future__ import annotations

import pytest

from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.errors import UserError
from pyscale.report.table import read_wall_times
from pyscale.traces.sacct import job_energy_j

NO_VALUE, NO_VALUE_LONG = 4294967294, 18446744073709551614


@pytest.mark.parametrize(
    ("own", "steps", "energy_j"),
    [
        (1200, (), 1200),
        # The batch and the external step each count the whole node: their sum is no energy.
        (2400, (1190, 1200), 1200),
        (None, (1190, None), 1190),
        (0, (0, 0), None),
        (1200, (0,), 1200),
        (NO_VALUE, (NO_VALUE,), None),
        (NO_VALUE_LONG, (), None),
        (None, (), None),
        # 10 MW on one node.
        (600_000_000, (), None),
        (-5, (), None),
    ],
)
def test_the_largest_step_is_the_job_s_energy_unless_it_was_not_measured(own, steps, energy_j):
    assert job_energy_j(own, steps, wall_s=60, nodes=1) == energy_j


def test_many_nodes_may_draw_more_than_one_does():
    assert job_energy_j(60_000_000, (), wall_s=60, nodes=9) is None
    assert job_energy_j(60_000_000, (), wall_s=60, nodes=10) == 60_000_000


def test_energy_is_imported_and_said_to_be_the_nodes(sacct, write, imported, tmp_path):
    sacct.job("7", energy=(3000, 3000)).job("8", start=100, energy=(0, 0))
    table, said = imported("sacct", write(sacct.text))
    assert table["energy_j"].to_list() == [3000, None]
    assert "energy of whole nodes" in said
    trials = trials_from_wall_times(read_wall_times(tmp_path / "table.csv"))
    assert trials["energy_j"].to_list() == [3000, None]


def test_of_jobs_that_shared_a_node_nobody_knows_whose_energy_it_was(sacct, write, imported):
    sacct.job("1", node="n1", energy=(3000, 3000))
    sacct.job("2", node="n1", start=30, energy=(3000, 3000))
    sacct.job("3", node="n2", start=30, energy=(4000, 4000))
    sacct.job("4", node="n1", start=90, energy=(5000, 5000))
    table, _ = imported("sacct", write(sacct.text))
    energies = dict(zip(table["task"], table["energy_j"], strict=True))
    assert energies == {"1": None, "2": None, "3": 4000, "4": 5000}


def test_a_job_within_a_longer_one_shared_its_node_also_where_another_lies_between(
    sacct, write, imported
):
    for job, (start, wall) in enumerate([(0, 200), (10, 20), (100, 20), (300, 20)]):
        sacct.job(str(job), start=start, wall=wall, energy=(500, 500))
    table, _ = imported("sacct", write(sacct.text))
    energies = dict(zip(table["task"], table["energy_j"], strict=True))
    assert energies == {"0": None, "1": None, "2": None, "3": 500}


def test_without_energy_nothing_is_said_of_it(sacct, write, imported):
    sacct.job("7")
    table, said = imported("sacct", write(sacct.text))
    assert table["energy_j"].to_list() == [None]
    assert "energy of whole nodes" not in said


def test_what_is_no_energy_is_refused(sacct, write, imported):
    sacct.job("7", energy=("3.1K", ""))
    with pytest.raises(UserError, match="ConsumedEnergyRaw '3.1K' is not an energy in joules"):
        imported("sacct", write(sacct.text))
