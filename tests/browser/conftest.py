"""A real headless Chromium, and reports on disk to open in it."""

import pytest

from browser.chromium import Visitor, find_chromium, patient_context, running_chromium
from browser.reports import MADE_UP, without_figures, written
from pretendedrun import make_run
from pyscale.commands.reporting import report_runs


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


def _report(name):
    @pytest.fixture(scope="package", name=name)
    def made(folder):
        return written(folder / name, MADE_UP[name](folder / f"{name}-run"))

    return made


full, broken, table, hostile, single, weak = map(_report, list(MADE_UP)[:6])
grid, machine, machines, loading, loadings, reconstruction = map(_report, list(MADE_UP)[6:])


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
