"""A real headless Chromium, and reports on disk to open in it."""

from dataclasses import replace

import polars as pl
import pytest

from browser.chromium import Visitor, find_chromium, patient_context, running_chromium
from browser.reports import (
    broken_run,
    hostile_run,
    single_run,
    table_results,
    weak_run,
    without_figures,
    written,
)
from madeupgrid import made_up
from madeuploader import ENTRIES
from madeuploaderrun import consuming
from madeuploaderrun import made_up as made_up_loading
from madeupmachine import made_up as made_up_machine
from madeupreconstructrun import made_up as made_up_reconstruction
from pretendedrun import make_run
from pyscale.analysis.machine.findings import MachineFindings
from pyscale.analysis.ranks.loader import LoaderFindings
from pyscale.analysis.ranks.reconstruct import ReconstructFindings
from pyscale.references.files import all_references
from pyscale.references.matchingranks import matching_loading, matching_reconstruct
from pyscale.references.model import Reference, Referred
from pyscale.reporting import report_runs
from pyscale.results import ReportOptions
from pyscale.results import results_of as results_of_folder


# Not for the whole session: while it runs, no other test in this process could use asyncio.
@pytest.fixture(scope="package")
def browser(missing):
    program = find_chromium()
    if program is None:
        missing("Chromium", "run scripts/provide_browser.sh as root")
        raise AssertionError
    with running_chromium(program) as browser:
        yield browser


@pytest.fixture
def visit(browser):
    """Open a file; any error, and any request that is not for a file, fails the test at its end."""
    visitor = Visitor(browser)
    yield visitor.open
    visitor.close()
    assert visitor.trouble == []


@pytest.fixture(scope="package")
def _shared(browser):
    visitor = Visitor(browser)
    yield visitor
    visitor.close()


@pytest.fixture
def visit_once(_shared):
    """Like `visit`, for tests that leave a page as they found it: all share it."""
    yield _shared.open_once
    trouble, _shared.trouble = _shared.trouble, []
    assert trouble == []


def pytest_generate_tests(metafunc):
    """Ask each test of a `report` of all those that its module names as `REPORTS`."""
    if "report" in metafunc.fixturenames:
        metafunc.parametrize("report", metafunc.module.REPORTS, indirect=True)


@pytest.fixture
def report(request):
    """One of the reports below, by its name."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def page(report, visit_once):
    """Its page, for tests that leave it as they found it."""
    return visit_once(report.page)


@pytest.fixture
def unwatched(browser):
    """A page that may do what `visit` forbids."""
    context = patient_context(browser)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="package")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="package")
def full(folder):
    """The pipeline at N = 1, 2 and 4, six times, with all records of a run on a cluster."""
    run = make_run(folder / "full", counts=(1, 2, 4), repeats=6, frames=96)
    return written(
        run.report, results_of_folder(run, options=ReportOptions(references=("pycyto",)))
    )


@pytest.fixture(scope="package")
def broken(folder):
    """One configuration computes something else than the baseline."""
    return written(folder / "broken", broken_run().results_with_timeline("a broken run"))


@pytest.fixture(scope="package")
def thin(folder):
    """A first look: N = 1 and 2, twice, so that nothing has an interval."""
    run = make_run(folder / "thin", counts=(1, 2), repeats=2, frames=8)
    return written(run.report, results_of_folder(run))


@pytest.fixture(scope="package")
def table(folder):
    """Wall times measured elsewhere."""
    return written(folder / "table", table_results())


@pytest.fixture(scope="package")
def hostile(folder):
    return written(folder / "hostile", hostile_run().results_with_timeline("<b>a run</b>"))


@pytest.fixture(scope="package")
def single(folder):
    return written(folder / "single", single_run().results_with_timeline("one trial"))


@pytest.fixture(scope="package")
def weak(folder):
    return written(folder / "weak", weak_run().results_with_timeline("weak scaling"))


@pytest.fixture(scope="package")
def grid(folder):
    """CPU and GPU at five sizes, six times, beside what others measured."""
    return written(folder / "grid", made_up(sizes=(224, 448, 896, 1344, 2016)))


@pytest.fixture(scope="package")
def machine(folder):
    """One node with two GPUs, a stage beside that reads a movie at N = 1 and 2, and a reference."""
    own = made_up_machine(1, pipeline=True)
    found = own.of(MachineFindings)
    assert found is not None
    reference = Reference(
        name="elsewhere",
        title="A machine elsewhere",
        source="Made up",
        figures="wall times",
        hardware={"processor": "another"},
        caveats=("None of it was measured.",),
        sweep="test",
        stages={},
    )
    slower = found.tests.with_columns(wall_s=pl.col("wall_s") * 2, rate=pl.col("rate") / 2)
    beside = Referred(reference, slower)
    return written(folder / "machine", replace(own, beside={"machine": [beside]}))


@pytest.fixture(scope="package")
def machines(folder):
    """Three nodes without a GPU, of which the third reads at half the rate."""
    return written(folder / "machines", made_up_machine(3, gpus=False))


@pytest.fixture(scope="package")
def loading(folder):
    """Eight configurations of a loader on 1 and 2 ranks; the last one fails."""
    *others, last = consuming(500.0)
    failing = replace(last, error="a slide cannot be read: CMU-1.svs")
    return written(folder / "loading", made_up_loading([*others, failing]))


@pytest.fixture(scope="package")
def loadings(folder):
    """The same on four ranks with three trials each, beside what somebody published."""
    like = replace(ENTRIES[2], num_workers=4, pool_size=8)
    results = made_up_loading([*ENTRIES[:2], like], ranks=(4,), repeats=3)
    assert results.of(LoaderFindings) is not None
    known = all_references(folder / "none").values()
    beside = matching_loading(known, results.of(LoaderFindings).points)
    return written(folder / "loadings", replace(results, beside={"loader": beside}))


@pytest.fixture(scope="package")
def reconstruction(folder):
    """Three images on 1 to 8 ranks, one of them too large for one, beside what is published."""
    results = made_up_reconstruction(slowest=1.1)
    assert results.of(ReconstructFindings) is not None
    known = all_references(folder / "none").values()
    beside = matching_reconstruct(known, results.of(ReconstructFindings).points)
    return written(folder / "reconstruction", replace(results, beside={"reconstruct": beside}))


@pytest.fixture(scope="package")
def several(folder):
    """The comparison of two runs, of which the second computes 1.3 times as long."""
    runs = [
        make_run(folder / name, counts=(1, 2), repeats=6, frames=24, slower=slower)
        for name, slower in (("before", 1.0), ("after", 1.3))
    ]
    out = folder / "several"
    with without_figures():
        report_runs([str(run.path) for run in runs], out)
    return out / "comparison.html"
