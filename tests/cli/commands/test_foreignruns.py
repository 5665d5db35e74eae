"""A run that may be read and not written, as a colleague's or one on a read-only filesystem."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
import pytest

from mockruns import PIPELINE, carry_out, plan_of, small_movie
from pyscale.evaluation.results import report_run
from pyscale.store.folder import RunFolder

pytestmark = pytest.mark.slow

NOBODY = 65534
# An interpreter below root's own folder must stay readable to whom root becomes.
ANOTHER_USER = (
    *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
    *("--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"),
)
READS = """\
import contextlib, io, json, sys
from pyscale import app
from pyscale.report import write
# Figures for print are files like any other, and take longest.
write.write_figures = lambda *_, **__: []
print("can be imported", flush=True)
told = []
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()) as said,
    ):
        try:
            app.main()
        except SystemExit as end:
            told.append((end.code or 0, said.getvalue()))
print(json.dumps(told))
"""
"""All commands in one process: what it may do is the point, and not how it starts."""
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


@pytest.fixture(scope="module")
def shared():
    """A folder that everybody may read."""
    with tempfile.TemporaryDirectory(prefix="pyscale-shared-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="module")
def runs(shared, without_figures):
    """Two runs, of which the first has a report of its own."""
    plan = plan_of(PIPELINE, small_movie(shared), shared, (1, 2), only=("register_denoise",))
    found = []
    for name in ("20260101T000000Z-aaaa", "20260101T000001Z-bbbb"):
        found.append(RunFolder.create(shared, plan.model_copy(update={"run_id": name})))
        carry_out(found[-1])
    report_run(found[0])
    return found


@pytest.fixture
def place():
    """Where who reads the runs may write."""
    with tempfile.TemporaryDirectory(prefix="pyscale-reader-") as folder:
        yield Path(folder)


@pytest.fixture(params=["another user", "read-only filesystem"])
def read(request, shared, place):
    """Run commands as somebody who may read the runs alone; codes, and what each complained of."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user or mount a folder read-only: run as root")
    is_user = request.param == "another user"
    if is_user:
        os.chown(place, NOBODY, NOBODY)
    as_reader = ANOTHER_USER if is_user else ("unshare", "--mount", "sh", "-c", READ_ONLY, shared)

    def run(*commands):
        done = subprocess.run(
            [
                *map(
                    str,
                    (*as_reader, sys.executable, "-c", READS, json.dumps(commands, default=str)),
                )
            ],
            check=False,
            capture_output=True,
            text=True,
            cwd=place,
            env={"PATH": os.environ["PATH"], "HOME": str(place)},
        )
        begun, _, told = done.stdout.partition("\n")
        if not begun:
            pytest.skip(f"{request.param}: not possible here ({done.stderr.strip()[-200:]})")
        assert done.returncode == 0, done.stderr
        return json.loads(told)

    return run


def test_it_is_reported_compared_and_advised_of_without_a_file_in_it(runs, read, shared, place):
    before = {file: file.stat().st_mtime_ns for file in shared.rglob("*")}
    first, second = (run.path for run in runs)
    commands = (
        ("report", first, "--out", "one"),
        ("report", second, "--archive", "--out", "two"),
        ("report", first, second, "--out", "both"),
        ("advise", first),
        ("status", first),
        ("status", first, "--log"),
        ("compare", first, second),
    )
    for code, said in read(*commands):
        assert code == 0, said
    assert {file: file.stat().st_mtime_ns for file in shared.rglob("*")} == before
    for out in ("one", "two", f"both/{first.name}", f"both/{second.name}"):
        assert pl.read_parquet(place / out / "tasks.parquet").height > 0
        assert (place / out / "provenance_manifest.json").is_file()
    assert (place / "two" / f"{second.name}.zip").is_file()


def test_what_would_be_written_into_it_is_one_sentence(runs, read):
    run = runs[0].path
    resumed = ("resume", run)
    not_written = f"because {run} may not be written into"
    expected = (f"cannot be written into {run}", not_written, not_written)
    ended = read(("report", run), resumed, (*resumed, "--detach"))
    for (code, said), words in zip(ended, expected, strict=True):
        assert code == 2, said
        assert words in said
        assert len(said.splitlines()) == 1
    assert "name another folder by --out" in ended[0][1]
