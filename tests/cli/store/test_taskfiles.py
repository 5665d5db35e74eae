"""What the files of a task say of its end, and what is added to them or taken back."""

import pytest

from pyscale.store.records import TaskOrder
from pyscale.store.taskfiles import (
    explain_end,
    forget_ends_by_another,
    read_task,
    write_order,
    write_vanished,
)
from pyscale_stages.contract import TaskError
from trials import begin_task, end_task, ended, error_of

CANCELLED = TaskError(kind="Cancelled", message="somebody did", exit_code=1)
EXHAUSTED = TaskError(kind="OutOfMemory", message="of 1 GiB", exit_code=3)


@pytest.fixture
def ordered(trial):
    """Order a task of the trial."""

    def order(task):
        (trial / task).mkdir()
        write_order(trial / task, TaskOrder(argv=("true",)))
        return trial / task

    return order


def test_who_killed_a_task_is_told_once_it_is_known_and_then_stays(ordered):
    folder = ordered("w0")
    end_task(folder, -9)
    explain_end(folder, None)
    assert error_of(folder).kind == "Killed"
    assert ended(folder).cause is None
    for cause in (EXHAUSTED, CANCELLED):
        explain_end(folder, cause)
        assert error_of(folder) == EXHAUSTED


def test_nothing_is_explained_of_a_task_that_has_not_ended(ordered):
    folder = ordered("w0")
    explain_end(folder, EXHAUSTED)
    assert read_task(folder).state == "queued"


def test_a_task_that_was_ordered_again_waits_though_its_earlier_launch_is_recorded(ordered):
    folder = ordered("w0")
    begin_task(folder)
    assert read_task(folder).state == "running"
    write_order(folder, TaskOrder(argv=("true",)))
    again = read_task(folder)
    assert (again.state, again.launch) == ("queued", None)
    begin_task(folder)
    assert read_task(folder).state == "running"


def test_a_task_that_left_no_record_failed_with_its_last_words(ordered):
    folder = ordered("w0")
    (folder / "stderr").write_text("first\nlast words\n")
    end_task(folder, 7)
    assert error_of(folder) == TaskError(kind="Failed", message="last words", exit_code=7)


def test_only_what_another_ended_is_taken_for_not_ended(ordered, trial):
    for task, code in {"w0": -9, "w1": 1, "w2": 0}.items():
        end_task(ordered(task), code)
    write_vanished(ordered("w3"))
    ordered("w4")
    tasks = ["w0", "w1", "w2", "w3", "w4"]
    forget_ends_by_another(trial, tasks)
    found = {task: read_task(trial / task).state for task in tasks}
    assert [task for task in tasks if found[task] == "queued"] == ["w0", "w3", "w4"]
