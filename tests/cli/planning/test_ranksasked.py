"""`pyscale compare` and `advise` of runs of every kind whose wall time says nothing."""

from functools import cache

import pytest

from madeupruns import loader_run, reconstruct_run
from pyscale.commands.reporting import report_several
from pyscale.errors import UserError
from pyscale.evaluation.results import results_of
from pyscale.store.folder import RunFolder
from refusals import assert_refused, refused

KINDS = {"loader": loader_run, "reconstruct": reconstruct_run}
OTHER_WORK = {"loader": {"patch_px": 512}, "reconstruct": {"size_px": 256}}


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return str(request.param)


@pytest.fixture(scope="module")
def made(kind, tmp_path_factory):
    folder = tmp_path_factory.mktemp(kind)
    return cache(lambda name, **changes: KINDS[kind](folder, name, **changes))


def page_of(folder, *paths):
    runs = [RunFolder(path) for path in paths]
    reports = [folder / run.path.name for run in runs]
    return report_several(runs, [*map(results_of, runs)], reports, folder).read_text("utf-8")


def test_a_slower_run_is_a_regression_and_the_other_way_round_is_faster(made, pyscale):
    base, new = made("a1b2"), made("c3d4", slower=2)
    slower = pyscale("compare", base, new, "--fail-on", "regression")
    assert slower.code == 1
    assert "at N = 1 and 2" in slower.err
    assert "New is slower for every configuration" in slower.text
    faster = pyscale("compare", new, base, "--fail-on", "regression")
    assert faster.code == 0
    assert "New is faster for every configuration" in faster.text


def test_other_work_is_refused_by_what_differs_and_its_page_says_so(kind, made, pyscale, tmp_path):
    runs = made("few", repeats=2), made("other", repeats=2, **OTHER_WORK[kind])
    answer = pyscale("compare", *runs)
    assert_refused(answer)
    page = page_of(tmp_path, *runs)
    assert "not compared, as the work is another" in page
    assert "no stage and N in common" not in page


def test_an_objective_has_no_meaning_for_them(made, pyscale):
    assert_refused(pyscale("advise", made("few", repeats=2), "--objective", "fastest"))


@pytest.fixture(scope="module")
def unlike(tmp_path_factory):
    return [make(tmp_path_factory.mktemp("unlike"), name) for name, make in KINDS.items()]


def test_runs_of_two_kinds_say_what_each_measured_and_that_nothing_is_in_common(
    unlike, pyscale, tmp_path
):
    answer = pyscale("compare", *unlike)
    assert_refused(answer)
    with refused(UserError):
        page_of(tmp_path, *unlike)
    page = (tmp_path / "comparison.html").read_text("utf-8")
    assert "measured pool16 at N = 1" in page
    assert "no stage and N in common" not in page
