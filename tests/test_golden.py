"""What pyscale makes of runs of every kind, compared with what it made of them before.

Of made-up results, of a made-up run on a cluster and of two stored runs: every table, every value
of the page, the text, what figures are drawn from, and what commands print; and the batch scripts
that it writes. `make golden` renews the stored text, so that a change of it stands in the commit
that meant it.
"""

import difflib
import json
import os
import sys
import tarfile
from dataclasses import replace
from importlib.metadata import version
from io import StringIO
from pathlib import Path

import polars as pl
import pytest

import madeupgrid
import madeupmachine
from browser.reports import (
    broken_run,
    failing_loading,
    one_machine,
    published_loading,
    published_reconstruction,
    table_results,
    weak_run,
)
from commandline import answer_of
from goldentext import csv_table, figure_text, json_text, page_text, sampled, table_text
from madeuppipeline import IN_A_RUN, pipeline
from madeupruns import loader_run, reconstruct_run
from pretendedrun import make_run
from pyscale import DISTRIBUTION
from pyscale.analysis.machine.findings import MachineFindings
from pyscale.commands.reporting import report_several
from pyscale.console import PIPED_WIDTH, Console
from pyscale.evaluation.results import results_of as results_of_run
from pyscale.report import figures
from pyscale.report.answers import answers_of
from pyscale.report.cryosparclike import benchmark_files
from pyscale.report.csv import csv_texts
from pyscale.report.markdown import write_markdown
from pyscale.report.page.write import write_page
from pyscale.report.terminal import summary_of
from pyscale.report.write import write_validation
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import PROVENANCE_FILE
from renderedscripts import SHOWN, shown
from validated import found_of, trial

GOLDEN = Path(__file__).parent / "golden"
RENEW = "PYSCALE_TEST_RENEW_GOLDEN"
"""Set by `make golden`: the text is stored instead of compared."""
MOST_LINES = 40
"""Lines of a difference that are shown of one file."""
MOST_CHARACTERS = 240
"""Of such a line."""
STAMP = {
    "node": "node1",
    "cpu": {"model": "Xeon Gold 6338", "cores": 32, "threads": 32, "usable": list(range(32))},
    "memory": {"total_bytes": 256 * 2**30},
    "gpus": [],
    "kernel": "6.1.0",
    "filesystems": [],
    "load_1min": 0.1,
}
MADE_FROM = {
    "pyscale_version": "1.2.3",
    "git_commit": "a" * 40,
    "git_dirty": False,
    "python_version": "3.11.7",
    "input_files": [],
}


def thin():
    """A first look, of an installation whose segmentation is wrong."""
    results = pipeline((1, 2), 2, cache_state="warm", oversubscribed=True)
    return replace(results, validation=found_of(segment=[trial(ap=0.5)]))


MADE_UP = {
    "pipeline": lambda: replace(pipeline((1, 2, 4, 8), 6), context=IN_A_RUN),
    "pipeline-thin": thin,
    "pipeline-broken": lambda: broken_run().results_with_timeline("a broken run"),
    "pipeline-weak": lambda: weak_run().results_with_timeline("weak scaling"),
    "table": table_results,
    "grid": madeupgrid.made_up,
    "grid-workers": lambda: madeupgrid.made_up(
        sizes=madeupgrid.SIZES[:2], workers=(1, 2), repeats=2, builds=True, scaling=True
    ),
    "grid-models": lambda: madeupgrid.made_up(
        ("cpu", "mps"),
        madeupgrid.SIZES[:2],
        models=("pyscale-tiny", "cyto3"),
        repeats=1,
        parts=False,
        beside=False,
        references=False,
    ),
    "machine": one_machine,
    "machines": lambda: madeupmachine.made_up(3, gpus=False),
    "loader": lambda: failing_loading(pipeline=True),
    "loader-published": published_loading,
    "reconstruct": lambda: published_reconstruction(pipeline=True),
}


@pytest.mark.parametrize("kind", MADE_UP)
def test_a_report_says_of_made_up_results_what_it_said(kind, tmp_path):
    compare(kind, report_views(MADE_UP[kind](), tmp_path))


def report_views(results, folder):
    """Everything in a report, by the name of the file that its text is stored in."""
    yield (
        "csv",
        "\n".join(
            f"== {name}\n{table_text(csv_table(text))}" for name, text in csv_texts(results).items()
        ),
    )
    yield "markdown", sampled(write_markdown(folder, results).read_text("utf-8"))
    yield "page", page_text(write_page(folder, results).read_text("utf-8"))
    verdicts = "\n".join(path.read_text("utf-8") for path in write_validation(folder, results))
    yield "validation", verdicts
    yield "answers", json_text(answers_of(results).model_dump(mode="json"))
    yield "terminal", f"{printed(results)}\n== -v\n{printed(results, verbose=True)}"
    drawn = (f"== {name}\n{figure_text(plot)}" for name, plot in figures.drawings(results))
    yield "figures", "\n".join(drawn)


def printed(results, *, verbose=False):
    said = StringIO()
    Console(file=said, width=PIPED_WIDTH).print(summary_of(results, verbose=verbose))
    return said.getvalue()


@pytest.fixture
def cluster_runs(tmp_path):
    """Two runs of the pipeline on a cluster, of which the second computes 1.3 times as long."""
    made = []
    for name, slower in (("a1b2", 1.0), ("c3d4", 1.3)):
        run = make_run(
            tmp_path / name,
            counts=(1, 2, 4),
            repeats=6,
            frames=16,
            slower=slower,
            run_id=f"20260317T114224Z-{name}",
            stamp=STAMP,
        ).path
        file = run / PROVENANCE_FILE
        file.write_text(json.dumps(json.loads(file.read_bytes()) | MADE_FROM))
        made.append(run)
    return made


@pytest.fixture
def _no_figures(monkeypatch):
    """Leave figures undrawn: no pixels are compared, and drawing takes most of the time."""
    monkeypatch.setattr(figures, "save", lambda _plot, _stem: [])


def stored_run(name, folder):
    """Unpack a run that was measured, whose paths and names are masked."""
    with tarfile.open(GOLDEN / f"{name}.tar.xz") as file:
        file.extractall(folder, filter="data")
    (run,) = folder.iterdir()
    return run


@pytest.mark.usefixtures("_no_figures")
def test_commands_say_of_a_run_on_a_cluster_what_they_said(cluster_runs, tmp_path, capsys):
    compare("cluster", run_views(*cluster_runs, tmp_path, capsys), root=tmp_path)


RANKS = {
    "ranks-loader": loader_run,
    "ranks-reconstruct": reconstruct_run,
}
"""Made-up folders of what ranks do, whose wall time says nothing."""


@pytest.mark.parametrize("kind", RANKS)
def test_commands_say_of_runs_of_ranks_what_they_said(kind, tmp_path, capsys):
    runs = [RANKS[kind](tmp_path, name, slower=by) for name, by in (("a1b2", 1.0), ("c3d4", 1.2))]
    compare(kind, rank_views(runs, capsys), root=tmp_path)


def rank_views(runs, capsys):
    """What commands make of two runs of ranks."""
    for view, words in {"compare": ("compare", *runs), "advise": ("advise", runs[0])}.items():
        answer = answer_of(capsys, "pyscale", *words)
        yield view, f"{answer.out}== exit code {answer.code}\n{answer.err}"
    answer = answer_of(capsys, "pyscale", "compare", *runs, "--json")
    yield "compare-json", json_text(json.loads(answer.out))


def test_a_page_of_several_runs_shows_what_it_showed(cluster_runs, tmp_path, capsys):
    results = [results_of_run(RunFolder(run)) for run in cluster_runs]
    reports = [run / "report" for run in cluster_runs]
    page = report_several([RunFolder(run) for run in cluster_runs], results, reports, tmp_path)
    compare("several", iter([("page", page_text(page.read_text("utf-8")))]), root=tmp_path)


def test_tests_of_a_machine_in_the_shape_of_cryosparc_are_what_they_were():
    tests = madeupmachine.made_up(1).of(MachineFindings).tests
    files = benchmark_files(tests, madeupmachine.ABOUT_THE_RUN)
    compare("cryosparc", ((one, json_text(json.loads(it.as_json))) for one, it in files.items()))


def test_batch_scripts_are_what_they_were():
    of_here = {sys.executable: "PYTHON", f"pyscale {version(DISTRIBUTION)}": "pyscale VERSION"}
    found = {}
    for kind in SHOWN:
        text = shown(kind)
        for here, word in of_here.items():
            text = text.replace(here, word)
        found[kind.replace(" ", "-")] = text
    compare("scripts", found.items())


@pytest.mark.usefixtures("_no_figures")
@pytest.mark.parametrize("name", ["stored-pipeline", "stored-mixed"])
def test_commands_say_of_a_stored_run_what_they_said(name, tmp_path, capsys):
    run, same = (stored_run(name, tmp_path / place) for place in ("runs", "copy"))
    views = [*run_views(run, same, tmp_path, capsys)]
    if name == "stored-pipeline":
        views.append(("crate", crate_text(run)))
    compare(name, views, root=tmp_path)


def crate_text(run):
    """The RO-Crate of a run; how long files are depends on where they lie."""
    crate = json.loads((run / "ro-crate-metadata.json").read_text("utf-8"))
    for entity in crate["@graph"]:
        entity.pop("contentSize", None)
    return json_text(crate)


def run_views(run, other, folder, capsys):
    """Everything that commands make of a run folder, as `report_views` does of results."""
    commands = {
        "report": ("report", run, "-v", "--out", folder / "out"),
        "advise": ("advise", run),
        "advise-why": ("advise", run, "--why", "--as", "nextflow"),
        "compare": ("compare", run, other),
        "status": ("status", run),
        "status-log": ("status", run, "--log"),
    }
    for view, words in commands.items():
        answer = answer_of(capsys, "pyscale", *words)
        yield view, f"{answer.out}== exit code {answer.code}\n{answer.err}"
    for name, words in {"advise": (run,), "compare": (run, other)}.items():
        answer = answer_of(capsys, "pyscale", name, *words, "--json")
        yield f"{name}-json", json_text(json.loads(answer.out))
    yield (
        "tables",
        "\n".join(
            f"== {path.name}\n{table_text(pl.read_parquet(path))}"
            for path in sorted(run.glob("*.parquet"))
        ),
    )
    # How long a folder's name is decides where its line is broken.
    text = (run / "provenance_manifest.json").read_text("utf-8")
    manifest = json.loads(stable(text, folder))
    # They hold folders of this machine, and the plan holds them too.
    del manifest["settings"]
    yield "manifest", json_text(manifest)
    out = folder / "out"
    yield (
        "csv",
        "\n".join(
            f"== {path.name}\n{table_text(csv_table(path.read_text('utf-8')))}"
            for path in sorted(out.glob("*.csv"))
        ),
    )
    yield (
        "markdown",
        "\n".join(sampled(path.read_text("utf-8")) for path in sorted(out.glob("*.md"))),
    )
    yield "page", page_text((out / "report.html").read_text("utf-8"))


def compare(kind, views, root=None):
    """Fail with a short difference where the text of a view is another than the stored one."""
    folder = GOLDEN / kind
    found = {f"{view}.txt": stable(text, root) for view, text in views if text}
    if os.environ.get(RENEW):
        folder.mkdir(exist_ok=True)
        for name, text in found.items():
            (folder / name).write_text(text, "utf-8")
        for path in folder.glob("*.txt"):
            if path.name not in found:
                path.unlink()
    stored = {path.name: path.read_text("utf-8") for path in folder.glob("*.txt")}
    changes = "".join(
        difference(f"{kind}/{name}", stored.get(name, ""), found.get(name, ""))
        for name in sorted(stored.keys() | found.keys())
    )
    if changes:
        pytest.fail(
            f"{changes}\nIf this change is meant, run `make golden` and commit what it writes.",
            pytrace=False,
        )


def stable(text, root):
    """Leave out the folder of this test, and blanks at the ends of lines."""
    if root is not None:
        text = text.replace(str(root), "ROOT")
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def difference(name, stored, found):
    """The lines that changed, the first of them where there are many."""
    lines = [
        line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}…"
        for line in difflib.unified_diff(
            stored.splitlines(), found.splitlines(), f"golden/{name}", "now", lineterm="", n=0
        )
    ]
    more = [f"… and {len(lines) - MOST_LINES} lines more"] if len(lines) > MOST_LINES else []
    return "".join(f"{line}\n" for line in [*lines[:MOST_LINES], *more])
