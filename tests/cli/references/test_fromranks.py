"""A run of ranks becomes a reference that stands beside other runs of the same work."""

from functools import cache

import pytest

from madeupruns import loader_run, reconstruct_run
from pyscale.analysis.ranks.reconstruct import reconstruct_findings
from pyscale.errors import UserError
from pyscale.evaluation.results import results_of
from pyscale.references.files import read_reference, write_reference
from pyscale.references.fromrun import of_ranks, reference_from
from pyscale.references.matching import matching_loading, matching_reconstruct, shown_beside
from pyscale.references.workid import work_id_of
from pyscale.store.folder import RunFolder
from pyscale.store.tables import build_tables
from refusals import refused

KINDS = {"loader": loader_run, "reconstruct": reconstruct_run}
SWEEPS = {"loader": "num_workers", "reconstruct": "gpus"}
MATCHING = {"loader": matching_loading, "reconstruct": matching_reconstruct}


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return str(request.param)


@pytest.fixture(scope="module")
def made(kind, tmp_path_factory):
    """Make a run of this name, once."""
    folder = tmp_path_factory.mktemp(kind)
    return cache(lambda name, **changes: RunFolder(KINDS[kind](folder, name, **changes)))


@pytest.fixture
def loaded(made, tmp_path):
    """A reference of the first run, written and read."""
    return read_reference(write_reference(reference_from(made("a1b2"), "ours"), tmp_path / "own"))


def found_of(run):
    return results_of(run)


def test_it_has_the_form_of_the_shipped_ones(kind, loaded, made):
    reference, run = loaded.reference, made("a1b2")
    assert reference.sweep == SWEEPS[kind]
    assert set(reference.stages.values()) == {kind}
    assert reference.work_id == work_id_of(run)
    assert reference.caveats[0] == f"{len(run.plan.trials)} of {len(run.plan.trials)} planned " + (
        "trials were timed, in randomised blocks."
    )
    assert "/" not in loaded.table.write_csv()


def test_it_stands_beside_another_run_of_the_same_work_and_not_beside_itself(kind, loaded, made):
    own, slower = made("a1b2"), made("c3d4", slower=1.2)
    assert shown_beside([loaded], work_id_of(slower)) == [loaded]
    (found,) = MATCHING[kind]([loaded], found_of(slower).kinds[0].points)
    assert found.reference.name == "ours"
    assert set(found.found["workers"]) <= {1, 2}
    assert MATCHING[kind]([loaded], found_of(own).kinds[0].points) == []


def test_its_numbers_are_those_of_the_run(kind, loaded, made):
    (own,) = found_of(made("a1b2")).kinds
    if kind == "loader":
        whole = own.points.select("stage", "pool_size", "inferred_per_s").rows()
        told = loaded.table.select("stage", "pool_size", "effective_patches_per_s").rows()
    else:
        scaling = own.tables["reconstruct"].drop_nulls("speedup")
        parts = ["total", "gradient", "denoiser"]
        whole = [
            (row["component"], row["workers"], row["speedup"])
            for row in scaling.to_dicts()
            if row["workers"] > 1 and row["component"] in parts
        ]
        told = loaded.table.select("component", "gpus", "speedup").rows()
    assert told == whole


def test_other_settings_are_not_shown_beside_it(kind, loaded, made):
    other = {"loader": {"patch_px": 512}, "reconstruct": {"size_px": 256}}[kind]
    run = made("e5f6", **other)
    assert shown_beside([loaded], work_id_of(run)) == []
    if kind == "loader":
        assert matching_loading([loaded], found_of(run).kinds[0].points) == []


def test_a_reconstruction_at_one_n_and_two_kinds_at_once_are_refused(kind, made):
    run = made("a1b2")
    (own,) = found_of(run).kinds
    with refused(UserError):
        of_ranks(run.plan, (own, own))
    if kind == "reconstruct":
        alone = reconstruct_findings(build_tables(run).reconstruction.filter(workers=1))
        assert alone is not None
        with refused(UserError):
            of_ranks(run.plan, (alone,))
