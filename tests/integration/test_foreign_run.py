"""A run folder that somebody else made: what is done with it stays inside it."""

import json
import os
import shutil
import stat
from pathlib import Path

import psutil
import pytest
from filelock import FileLock

from pyscale.store.lock import LockHolder
from pyscale_stages.measure.nodename import host_name
from waitingforruns import only_run

OPTIONS = ("--workers", "1,2", "--repeats", "1", "--only", "contact", "--set", "keep_outputs=all")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return tmp_path_factory.mktemp("made")


@pytest.fixture
def foreign(home, made, labels, pyscale):
    """A run that was interrupted in its last trial, which resuming it starts anew."""
    if not any(made.iterdir()):
        assert pyscale("run", "labels", "--data", labels, *OPTIONS).code == 0
        shutil.copytree("runs", made / "runs")
        shutil.copy(labels, made)
    elif not Path("runs").exists():
        shutil.copytree(made / "runs", "runs")
    run = only_run()
    (run.path / "tasks" / "contact-n2-b1" / "w0" / "exit.json").unlink()
    started, *_ = run.journal_file.read_text().splitlines()
    run.journal_file.write_text(f"{started}\n")
    return run


@pytest.fixture
def victim(home):
    """A folder of the user that looks like one of a trial."""
    folder = home / "victim"
    for task in ("w0", "project"):
        (folder / task / "out").mkdir(parents=True)
        (folder / task / "out" / "data.txt").write_text("years of work")
    return folder


def everything_in(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


OUTSIDE = "../../../victim"
FILE = {"path": None, "from_trial": "contact-n1-b1", "file": "../../../../../victim/w0"}
CHANGES = {
    "a trial elsewhere": lambda first, _: first.update(id=OUTSIDE, reference_trial=OUTSIDE),
    "a reference elsewhere": lambda _, second: second.update(reference_trial=OUTSIDE),
    "no such reference": lambda _, second: second.update(reference_trial="contact-n9-b9"),
    "an absolute entry": lambda first, _: first.update(entry="/victim"),
    "a file elsewhere": lambda _, second: second["inputs"][0].update(FILE),
    "one name for two": lambda first, second: second.update(id=first["id"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("change", [*CHANGES, "the jobs of all"])
def test_a_plan_that_names_what_is_outside_is_refused(foreign, victim, pyscale, change):
    file = foreign.path / "plan.json"
    plan = json.loads(file.read_text())
    if change in CHANGES:
        CHANGES[change](*plan["trials"])
    else:
        plan["run_id"] = "x,pyscale-20260317T114224Z-k3f9"
    file.write_text(json.dumps(plan))
    before = everything_in(victim)
    for words in (("resume",), ("cancel",), ("status",), ("report",)):
        answer = pyscale(*words, foreign.path.name)
        assert answer.code == 2, answer
        assert "plan.json" in answer.err
    assert everything_in(victim) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("tasks/contact-n2-b1", "."),
        ("tasks/contact-n2-b1/w1/out", "w0/out"),
        ("journal.jsonl", "journal.jsonl"),
        ("lock", "is not there yet"),
    ],
)
def test_a_link_that_leads_outside_is_named_and_not_followed(
    foreign, victim, pyscale, name, target
):
    path = foreign.path / name
    if path.is_dir():
        shutil.rmtree(path)
    elif name == "lock":
        path.unlink()
    else:
        path.replace(victim / target)
    path.symlink_to(victim / target)
    before = everything_in(victim)
    for words in (("resume",), ("cancel",)):
        answer = pyscale(*words, foreign.path.name)
        assert answer.code == 2, answer
        assert f"{path} is a link that leads out" in answer.err
    assert everything_in(victim) == before


@pytest.mark.slow
def test_no_process_is_ended_because_the_folder_names_it(foreign, pyscale):
    stranger = psutil.Popen(["sleep", "1000"])
    try:
        named = LockHolder(pid=stranger.pid, started_s=stranger.create_time(), node=host_name())
        (foreign.path / "lock.json").write_text(named.model_dump_json())
        # Somebody else holds it.
        with FileLock(foreign.path / "lock"):
            answer = pyscale("cancel", foreign.path.name)
        assert answer.code == 2
        assert "by a process that its lock.json does not name" in answer.err
        assert stranger.status() != psutil.STATUS_ZOMBIE
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.slow
def test_what_a_run_executes_is_its_owners_alone_to_write(foreign, pyscale):
    """A group that may write into the folder could put another order into a task's place."""
    # A link that stays inside is no harm.
    (foreign.path / "first").symlink_to("tasks/contact-n1-b1")
    for folder in [foreign.path, *foreign.path.rglob("*")]:
        if folder.is_dir():
            folder.chmod(0o775)
    before = os.umask(0o002)
    try:
        assert pyscale("resume", foreign.path.name).code == 0
    finally:
        os.umask(before)
    executed = [foreign.path, *foreign.path.rglob("*")]
    open_to_others = [
        path for path in executed if path.is_dir() and stat.S_IMODE(path.stat().st_mode) & 0o022
    ]
    assert open_to_others == []
    orders = list(foreign.path.glob("tasks/contact-n2-b1/*/order.json"))
    assert orders
    assert not [path for path in orders if stat.S_IMODE(path.stat().st_mode) & 0o022]
