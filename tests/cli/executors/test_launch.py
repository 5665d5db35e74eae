"""The launcher, as a process of its own: it runs each order once, and says where and when."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pyscale.executors.launch import tell_other_ranks
from pyscale.store.records import (
    EXIT_FILE,
    NODE_FILE,
    ORDER_FILE,
    NodeWork,
    TaskOrder,
)
from pyscale.store.taskfiles import read_task
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.ranks.rank_failure import first_end
from trials import ended, error_of, launched

pytestmark = pytest.mark.slow

LAUNCH = ("-m", "pyscale.executors.launch")
LISTING = """
import sys
from pyscale.executors.launch import main
main(sys.argv[1:])
print(*sys.modules)
"""
HEAVY = ("pydantic", "psutil", "numpy", "submitit")
KILLED = "import os; os.kill(os.getpid(), 9)"
SAYS_SO = "open('ran', 'a').write('x')"
"""What the task's process does: it works in the task's folder."""
REPLACE = (
    "import json; order = json.load(open('order.json')); order['token'] = 'new'; "
    "json.dump(order, open('order.json', 'w'))"
)
Order = Callable[..., Path]


@pytest.fixture
def order(tmp_path):
    def write(name="w0", program=SAYS_SO, **options):
        folder = tmp_path / "tasks" / "trial" / name
        folder.mkdir(parents=True, exist_ok=True)
        given = {"token": name, "submit_utc": datetime.now(UTC)} | options
        task = TaskOrder(argv=(sys.executable, "-c", program), **given)
        (folder / ORDER_FILE).write_text(task.model_dump_json())
        return folder

    return write


def launch(*folders, tokens=None, program=LAUNCH, env=None):
    tokens = tokens or [folder.name for folder in folders]
    named = [word for task in zip(folders, tokens, strict=True) for word in task]
    outside = {k: v for k, v in os.environ.items() if not k.startswith("SLURM")}
    return subprocess.run(
        [sys.executable, *program, "0", *map(str, named)],
        env=outside | dict(env or {}),
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def content(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_usual_task_imports_nothing_heavy(order):
    folder = order()
    said = launch(folder, program=("-c", LISTING))
    assert ended(folder).returncode == 0
    assert not set(HEAVY) & set(said.split())
    found = launched(folder)
    assert found.begin_utc < found.spawn_utc


@pytest.mark.parametrize(
    ("variables", "job_id", "node"),
    [
        ({}, None, os.uname().nodename),
        ({"SLURM_JOB_ID": "17", "SLURMD_NODENAME": "n17"}, "17", "n17"),
    ],
)
def test_the_job_is_named_as_squeue_names_it_and_the_node_as_slurm_does(
    order, variables, job_id, node
):
    folder = order()
    launch(folder, env=variables)
    assert (launched(folder).job_id, launched(folder).node) == (job_id, node)


def test_an_input_that_is_not_there_is_said_by_the_task(order, tmp_path):
    trial, gone = tmp_path / "tasks" / "trial", tmp_path / "gone"
    folder = order(
        program=f"open({str(gone)!r})",
        node_work=NodeWork(folder=trial, cache="cold", inputs=(gone,)),
    )
    launch(folder, env={"SLURMD_NODENAME": "n1"})
    assert "No such file" in error_of(folder).message
    assert "No such file" in (trial / NODE_FILE.format(node="n1")).read_text()


def test_a_merge_of_too_many_windows_says_so(order):
    """The kernel bounds what a command line may name."""
    folder = order(program="#" * (4 << 20))
    launch(folder)
    error = error_of(folder)
    assert "Argument list too long" in error.message
    assert "--set chunks_per_worker" in error.message
    assert "install" not in error.message


class TestHowARankEnded:
    """Those that wait for it hear of it from its launcher."""

    @pytest.fixture
    def meeting(self, tmp_path):
        (tmp_path / "meeting").mkdir()
        return tmp_path / "meeting" / "ranks"

    @pytest.mark.parametrize(
        ("program", "sentence"),
        [
            (KILLED, f"its process on {node_name()} was killed by SIGKILL"),
            ("raise SystemExit('slide 7 is no slide')", "slide 7 is no slide"),
            ("raise SystemExit(3)", f"on {node_name()} ended with exit code 3 and no message"),
            ("#" * (4 << 20), "cannot be started on"),
        ],
    )
    def test_badly_is_said_in_a_sentence(self, order, meeting, program, sentence):
        folder = order(program=program, meeting=meeting, rank=1)
        launch(folder)
        assert ended(folder).returncode != 0
        (file,) = meeting.parent.iterdir()
        assert file.name == "ranks.ended"
        (said,) = file.read_text().splitlines()
        assert said.startswith("rank 1 ended (")
        assert sentence in said

    def test_badly_in_a_container_is_said_by_the_signal(self, tmp_path):
        meeting = tmp_path / "ranks"
        order = {"meeting": str(meeting), "rank": 0, "container": {"program": "apptainer"}}
        tell_other_ranks(tmp_path, order, 137, None)
        assert first_end(meeting) == (
            f"rank 0 ended (its process on {node_name()} was killed by SIGKILL)"
        )

    def test_well_is_not_said(self, order, meeting):
        folder = order(meeting=meeting, rank=1)
        launch(folder)
        assert ended(folder).returncode == 0
        assert list(meeting.parent.iterdir()) == []

    def test_is_recorded_though_it_cannot_be_said(self, order, meeting, tmp_path):
        meeting.with_name("ranks.ended").mkdir()
        for number, place in enumerate((meeting, tmp_path / "gone" / "ranks")):
            folder = order(f"w{number}", program=KILLED, meeting=place, rank=1)
            launch(folder)
            assert ended(folder).returncode == -9
        assert not (tmp_path / "gone").exists()


class TestAnOrderThatWasBegunBefore:
    """A site requeues jobs although they ask not to be."""

    def test_is_not_run_again_and_the_record_says_why(self, order):
        folder = order()
        launch(folder, env={"SLURMD_NODENAME": "n1"})
        before = content(folder)
        launch(folder)
        assert content(folder) == before
        # Its launcher was killed before it could record the end.
        (folder / EXIT_FILE).unlink()
        launch(folder, env={"SLURMD_NODENAME": "n2"})
        assert (folder / "ran").read_text() == "x"
        error = error_of(folder)
        assert (error.kind, error.exit_code) == ("Requeued", 1)
        assert "after the task had begun on n1" in error.message

    def test_was_killed_for_it(self, order):
        """Slurm ends the task and the launcher, and who is first is a matter of chance."""
        folder = order(program="import os; os.kill(os.getpid(), 15)")
        launch(folder)
        assert ended(folder).returncode == -15
        launch(folder)
        assert error_of(folder).kind == "Requeued"

    @pytest.mark.parametrize(("returncode", "kind"), [(137, "Requeued"), (255, "Failed")])
    def test_was_killed_or_did_not_start_in_a_container(self, order, returncode, kind):
        folder = order()
        launch(folder)
        for name, changes in (
            ("order.json", {"container": {"program": "apptainer"}}),
            (EXIT_FILE, {"returncode": returncode}),
        ):
            told = json.loads((folder / name).read_bytes()) | changes
            (folder / name).write_text(json.dumps(told))
        launch(folder)
        told = json.loads((folder / EXIT_FILE).read_bytes())
        assert (told["cause"] or {"kind": "Failed"})["kind"] == kind

    def test_is_another_one_in_a_folder_that_was_ordered_anew(self, order):
        folder = order(token="old")
        launch(folder, tokens=["old"])
        order(token="new")
        launch(folder, tokens=["new"])
        assert (folder / "ran").read_text() == "xx"
        assert ended(folder).token == "new"


class TestAnOrderThatDoesNotStand:
    """The trial was set aside while the job waited, or while it ran."""

    def test_is_not_run_where_it_is_gone_or_another_took_its_place(self, order, tmp_path):
        launch(tmp_path / "tasks" / "trial" / "w0")
        assert list(tmp_path.iterdir()) == []
        folder = order(token="new")
        before = content(folder)
        launch(folder, tokens=["old"])
        launch(folder, folder, tokens=["old", "old"], env={"SLURM_PROCID": "1"})
        assert content(folder) == before
        launch(folder, tokens=["new"])
        assert ended(folder).token == "new"

    @pytest.mark.parametrize("meanwhile", [REPLACE, "import os; os.unlink('order.json')"])
    def test_leaves_no_record_where_it_went_meanwhile(self, order, meanwhile):
        folder = order(program=meanwhile)
        launch(folder)
        assert not (folder / EXIT_FILE).exists()
        assert read_task(folder).state != "done"
