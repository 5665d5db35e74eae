import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from pyscale.executors import waiting
from pyscale.executors.waiting import keep_busy, wait_for_any
from pyscale.store.records import TaskOrder
from pyscale.store.taskfiles import write_order
from trials import end_task, error_of


class PretendedJob:
    """A job that does something when it is asked how it is."""

    def __init__(self, *, alive=True, when_asked=lambda: None):
        self._alive = alive
        self._when_asked = when_asked

    def is_alive(self, _folder):
        self._when_asked()
        return self._alive


def ordered(folder):
    folder.mkdir()
    write_order(folder, TaskOrder(argv=("true",)))
    return folder


@pytest.fixture
def folders(tmp_path):
    return [ordered(tmp_path / f"w{task}") for task in range(3)]


def test_what_has_ended_before_is_told_at_once_and_its_job_not_asked(folders):
    def asked():
        raise AssertionError("asked")

    assert set(wait_for_any({})) == set()
    for folder in folders[1:]:
        end_task(folder)
    # The record of an earlier attempt ends nothing.
    end_task(folders[0], token="of an earlier attempt")
    jobs = dict.fromkeys(folders[1:], PretendedJob(when_asked=asked))
    assert set(wait_for_any(jobs | {folders[0]: PretendedJob()})) == set(folders[1:])


@pytest.mark.parametrize("most_watched", [256, 0], ids=["few", "many"])
def test_a_record_that_is_written_while_we_wait_is_found(folders, monkeypatch, most_watched):
    monkeypatch.setattr(waiting, "MOST_WATCHED", most_watched)
    with ThreadPoolExecutor() as pool:
        waits = pool.submit(wait_for_any, {folder: PretendedJob() for folder in folders})
        end_task(folders[1])
        assert set(waits.result()) == {folders[1]}


def test_a_few_records_are_seen_though_nobody_asks_for_the_jobs(folders, monkeypatch):
    """The period is longer than the test may last: the filesystem tells of the record."""
    monkeypatch.setattr(waiting, "PERIOD_S", 3600.0)
    watched = waiting.watch

    def watch_and_end(*paths, **options):
        watcher = watched(*paths, **options)
        with ThreadPoolExecutor() as pool:
            first = pool.submit(next, watcher)
            while not first.done():
                end_task(folders[1])
            yield first.result()

    monkeypatch.setattr(waiting, "watch", watch_and_end)
    jobs = {folder: PretendedJob() for folder in folders}
    assert set(wait_for_any(jobs)) == {folders[1]}


def test_a_job_that_is_gone_is_given_a_record(folders):
    gone = PretendedJob(alive=False)
    assert set(wait_for_any({folders[0]: gone, folders[1]: PretendedJob()})) == {folders[0]}
    assert error_of(folders[0]).kind == "Lost"


def test_a_job_that_ends_while_it_is_asked_keeps_its_own_record(folders):
    job = PretendedJob(alive=False, when_asked=lambda: end_task(folders[0]))
    assert set(wait_for_any({folders[0]: job})) == {folders[0]}
    kind = error_of(folders[0]).kind
    assert kind == "Failed", "it ended with 0 and left no result: it did not vanish"


def test_tasks_that_start_together_free_their_slot_together_and_come_again_where_they_must(folders):
    together, alone = (folders[0], folders[1]), (folders[2],)
    said = []

    def start(slots):
        said.extend(("start", group, slot) for group, slot in slots.items())
        for folder in (folder for group in slots for folder in group):
            end_task(folder)
        return {folder: PretendedJob() for group in slots for folder in group}

    def settle(jobs):
        said.append(("end", tuple(jobs)))
        return said.count(("end", together)) != 1

    keep_busy([together, alone], 1, start, settle)
    first = [("start", together, 0), ("end", together)]
    assert said == [*first, *first, ("start", alone, 0), ("end", alone)]


WITHOUT_A_WATCH = """\
import sys
from pathlib import Path
from pyscale.executors.waiting import wait_for_any

class Job:
    def is_alive(self, folder):
        print("asked", flush=True)
        return True

print(*wait_for_any({Path(sys.argv[1]): Job()}))
"""


@pytest.mark.slow
def test_a_user_who_has_no_watch_left_waits_all_the_same(tmp_path, missing):
    """Login nodes give all programs of a user a hundred or so."""
    no_watch = "echo 0 > /proc/sys/user/max_inotify_instances && "
    through = ["unshare", "--user", "--map-root-user", "sh", "-c"]
    if subprocess.run([*through, f"{no_watch} true"], check=False).returncode != 0:
        missing("a namespace of users", "run the tests where `unshare --user` is allowed")
    folder = ordered(tmp_path / "w0")
    with subprocess.Popen(
        [*through, f'{no_watch} exec "$@"', "sh", sys.executable, "-c", WITHOUT_A_WATCH, folder],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "asked\n"
        end_task(folder)
        said = process.stdout.read().splitlines()
    assert process.returncode == 0
    assert said[-1] == str(folder)
