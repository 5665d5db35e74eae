"""A run in one zip: whole, and the same bytes again."""

import errno
import zipfile
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from rocrate.rocrate import ROCrate

from mockexecutor import MockEnd, MockExecutor
from mockruns import carried_out, carry_out, killed_at, tell_samples
from pyscale.commands.archiving import archive
from pyscale.errors import UserError
from pyscale.evaluation.results import results_of
from pyscale.store.crate import write_crate
from pyscale.store.folder import find_run
from pyscale.store.lock import run_lock
from pyscale_stages.timing import Call
from refusals import refused


def tables(run):
    """What is made anew, without the report that shows it."""
    results_of(run)
    write_crate(run)


def unpacked(zipped):
    folder = zipped.with_name(f"unpacked-{zipped.stem}")
    with zipfile.ZipFile(zipped) as source:
        source.extractall(folder)
    return folder


@pytest.fixture
def measured(make, tmp_path):
    return carried_out(make(only=("register_denoise",)), tmp_path)


def texts(folder):
    """Everything in a folder as text, with the rows of its tables."""
    found = {}
    for file in (file for file in folder.rglob("*") if file.is_file()):
        name = file.relative_to(folder).as_posix()
        content = file.read_bytes().decode("utf-8", "replace")
        if file.suffix == ".parquet" and file.parent.name != "out":
            content += pl.read_parquet(file).write_json()
        found[name] = f"{name}\n{content}"
    return found


@pytest.mark.slow
def test_an_archive_is_a_run_with_the_same_numbers(run, tmp_path):
    def behaviour(trial, task, _spec):
        fails = (trial, task) == ("track-n2-b2", "w1")
        return MockEnd(wall_s=2.0 if task == "w0" else 1.0, returncode=2 if fails else 0)

    carry_out(run, MockExecutor(behaviour))
    folder = unpacked(archive(run, tmp_path / "out", tables))
    own, again = results_of(run), results_of(find_run(tmp_path, str(folder)))
    assert_frame_equal(own.configurations, again.configurations)
    assert_frame_equal(own.losses, again.losses)
    assert own.limits == again.limits


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes_and_a_crate_that_can_be_read(measured, tmp_path):
    call = Call(frame=3, index=0, shape_yx=(8, 8), wall_s=1.5, parts={"network": 1.0})
    tell_samples(measured, measured.plan.trials[0].id, "w0", call)
    before = texts(measured.path)
    first = archive(measured, tmp_path / "a", tables)
    second = archive(measured, tmp_path / "b", tables)
    assert first.name == f"{measured.path.name}.zip"
    assert first.read_bytes() == second.read_bytes()
    assert texts(measured.path) == before
    crate = ROCrate(str(first))
    assert crate.mainEntity.id == "plan.json"
    with zipfile.ZipFile(first) as zipped:
        held = set(zipped.namelist())
    parts = {part.id for part in crate.root_dataset["hasPart"] if not part.id.endswith("/")}
    assert parts <= held
    # The table of calls is made anew too.
    calls = pl.read_parquet(unpacked(first) / "calls.parquet")
    assert calls.select("frame", "part", "wall_s").rows() == [(3, None, 1.5), (3, "network", 1.0)]


def test_a_run_under_way_is_archived_as_far_as_it_is(run, tmp_path):
    killed_at(run, "contact-n2-b1", "w0")
    with run_lock(run.path):
        folder = unpacked(archive(run, tmp_path / "out", tables))
    status = ROCrate(str(folder)).get(f"#run-{run.plan.run_id}")["error"]
    assert status.endswith("planned trials are not complete")
    assert pl.read_parquet(folder / "tasks.parquet").height > 0


def test_every_record_is_archived_as_it_is_and_links_and_other_files_stay(
    measured, tmp_path, capsys
):
    secret = tmp_path / "key.json"
    secret.write_text('{"private": 1}')
    trial = measured.trial(measured.plan.trials[0])
    task = trial / "w0"
    (task / "key.json").symlink_to(secret)
    (task / "elsewhere").symlink_to(tmp_path, target_is_directory=True)
    (task / "notes.json").write_text("{}")
    copy = trial.with_name("backup-of-ada")
    copy.mkdir()
    (copy / "spec.json").write_text("{}")
    measured.set_aside(measured.plan.trials[1], "failed")
    folder = unpacked(archive(measured, tmp_path / "out", tables))
    records = [f for f in measured.path.rglob("*") if f.name in {"result.json", "order.json"}]
    assert records
    for file in [measured.path / "plan.json", measured.journal_file, *records]:
        assert (folder / file.relative_to(measured.path)).read_bytes() == file.read_bytes()
    assert not list(folder.rglob("out"))
    assert not (folder / "lock.json").exists()
    assert not any("private" in text for text in texts(folder).values())
    assert not (folder / "tasks" / copy.name).exists()
    assert not list(folder.rglob("notes.json"))
    assert (folder / "tasks" / f"{measured.plan.trials[1].id}.failed-1" / "w0").is_dir()
    said = " ".join(capsys.readouterr().err.split())
    assert f"{task / 'key.json'} is a link and is left out of the archive" in said
    assert f"{task / 'elsewhere'} is a link" in said


def test_what_the_disk_refuses_is_named_and_leaves_no_half_of_a_zip(
    measured, tmp_path, monkeypatch
):
    read = Path.read_bytes

    def refusing(file):
        if file.name == "stderr":
            raise PermissionError(errno.EACCES, "Permission denied", str(file))
        return read(file)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    file = measured.task(measured.plan.trials[0], "w0") / "stderr"
    file.write_text("words")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refusing)
        with refused(UserError):
            archive(measured, tmp_path / "out", tables)
    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(OSError, match="No space left"):
        archive(measured, tmp_path / "out", tables)
    assert list((tmp_path / "out").iterdir()) == []
