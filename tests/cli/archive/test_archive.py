"""A run in one zip: whole, the same bytes again, and without a name where that is asked for."""

import errno
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from rocrate.rocrate import ROCrate

from mockexecutor import MockEnd, MockExecutor
from mockruns import carried_out, carry_out, killed_at, plan_of, tell_samples
from pyscale.archive.archive import archive
from pyscale.archive.mask import Mask
from pyscale.archive.masking import masked_record
from pyscale.archive.names import own_code
from pyscale.errors import UserError
from pyscale.evaluation.results import results_of
from pyscale.planning.planentry import Dataset
from pyscale.planning.suite import load_suite
from pyscale.store.crate import write_crate
from pyscale.store.folder import RunFolder, find_run
from pyscale.store.lock import run_lock
from pyscale_stages.contract import TaskError
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.timing import Call
from refusals import refused

TELL = "zqx"
"""It is in every name that must not get out, and in nothing else."""


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
def test_a_masked_archive_is_a_run_with_the_same_numbers(run, tmp_path):
    def behaviour(trial, task, _spec):
        fails = (trial, task) == ("track-n2-b2", "w1")
        return MockEnd(wall_s=2.0 if task == "w0" else 1.0, returncode=2 if fails else 0)

    carry_out(run, MockExecutor(behaviour))
    folder = unpacked(archive(run, tmp_path / "out", tables, masked=True))
    own, masked = results_of(run), results_of(find_run(tmp_path, str(folder)))
    assert_frame_equal(own.configurations, masked.configurations)
    assert_frame_equal(own.losses, masked.losses)
    assert own.limits == masked.limits
    nodes = pl.read_parquet(folder / "tasks.parquet")["node"].unique().to_list()
    assert [node.partition("-")[0] for node in nodes] == ["node"]


@pytest.mark.slow
@pytest.mark.parametrize("masked", [False, True])
def test_the_same_run_gives_the_same_bytes_and_a_crate_that_can_be_read(measured, tmp_path, masked):
    call = Call(frame=3, index=0, shape_yx=(8, 8), wall_s=1.5, parts={"network": 1.0})
    tell_samples(measured, measured.plan.trials[0].id, "w0", call)
    before = texts(measured.path)
    first = archive(measured, tmp_path / "a", tables, masked=masked)
    second = archive(measured, tmp_path / "b", tables, masked=masked)
    assert first.name == f"{measured.path.name}{'-masked' if masked else ''}.zip"
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
        folder = unpacked(archive(run, tmp_path / "out", tables, masked=True))
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
    folder = unpacked(archive(measured, tmp_path / "out", tables, masked=False))
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
            archive(measured, tmp_path / "out", tables, masked=False)
    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(OSError, match="No space left"):
        archive(measured, tmp_path / "out", tables, masked=False)
    assert list((tmp_path / "out").iterdir()) == []


def test_frames_of_a_folder_are_masked_each_by_its_own_word(make, tmp_path, movie):
    frames = tmp_path / "frames"
    frames.mkdir()
    for number in range(3):
        (frames / f"{TELL}_{number}.tif").write_bytes(movie.read_bytes())
    plan = make(only=("register_denoise",), data=str(frames))
    plan = plan.model_copy(update={"movie": frames})
    run = carried_out(plan, tmp_path)
    folder = unpacked(archive(run, tmp_path / "out", tables, masked=True))
    record = json.loads((folder / "provenance.json").read_text())
    assert [file["name"] for file in record["input_files"]] == [
        "input-2.tif",
        "input-3.tif",
        "input-4.tif",
    ]


def test_paths_among_the_values_of_a_grid_are_masked_as_those_of_parameters_are():
    model = f"models/{TELL}.pth"
    plan = {
        "suite": {
            "name": "device",
            "summary": "",
            "stages": {"segment_1": {"point": {"model": model}, "grid": {"model": [model]}}},
        },
        "settings": {"grid": {"length_px": [224], "model": [model, "pyscale-tiny"]}},
    }
    masked = masked_record(Mask(names={}, run_id="r"), "plan.json", json.dumps(plan).encode())
    assert TELL.encode() not in masked
    assert json.loads(masked)["settings"]["grid"]["length_px"] == [224]
    assert b"pyscale-tiny" in masked


def test_names_of_nodes_and_places_are_masked_by_what_their_fields_mean():
    record = {
        "versions": {
            "numpy": "2.4.0.1",
            "place_device": f"nfs.{TELL}.example:/export/{TELL}",
            "place_filesystem": "nfs4",
        },
        "settings": {"mirror": f"our {TELL}/mirror", "images": {"segment": f"{TELL}/segment.sif"}},
        "slurm": {"SLURM_JOB_NODELIST": f"{TELL}node[1,11-12]"},
        "clock": f"10.9.8.7,{TELL}:4000",
        "argv": [f"--bind=/scratch/{TELL}:/my data {TELL}/a b"],
    }
    nodes = [f"nfs.{TELL}.example", *(f"{TELL}node{number}" for number in (1, 11, 12))]
    names = {"domain": [], "node": nodes}
    content = masked_record(Mask(names=names, run_id="r"), "r.json", json.dumps(record).encode())
    assert TELL.encode() not in content
    masked = json.loads(content)
    versions = masked["versions"]
    assert (versions["numpy"], versions["place_filesystem"]) == ("2.4.0.1", "nfs4")
    assert masked["slurm"]["SLURM_JOB_NODELIST"] == "node-2,node-3,node-4"
    assert masked["clock"] is None


@pytest.fixture
def own_slides(tmp_path):
    """A folder of two slides with names of patients, one of them a folder itself."""
    folder = tmp_path / f"slides of {TELL}"
    (folder / f"Patient2 {TELL}.ome.zarr" / "0").mkdir(parents=True)
    (folder / f"Patient2 {TELL}.ome.zarr" / "0" / "0").write_bytes(b"chunk")
    (folder / f"Patient1 {TELL}.svs").write_bytes(b"slide")
    return folder


def test_code_of_ones_own_and_slides_have_no_name_in_a_masked_archive(own_slides, tmp_path):
    factory = f"lab{TELL}.loading:make_{TELL}"
    suite = load_suite("loader")
    entry = suite.stages["loader"].model_copy(
        update={"grid": {}, "threads": 1, "params": {"factory": factory}}
    )
    suite = suite.model_copy(update={"stages": {"loader": entry}})
    slides, stages = Dataset(own_slides, frames=2), {"loader": {"factory": factory}}
    given = {"repeats": 1, "data": str(own_slides), "stages": stages}
    plan = plan_of(suite, slides, tmp_path / "runs", (2,), **given)
    run = RunFolder.create(tmp_path / "runs", plan)
    said = f"the module lab{TELL}.loading has no make_{TELL}, asked for as {factory}, in lab{TELL}"
    error = TaskError(kind="BadInput", message=said, exit_code=2)
    carry_out(run, MockExecutor(lambda *_: MockEnd(returncode=2, error=error)))
    assert sum(factory in text for text in texts(run.path).values()) > 4
    folder = unpacked(archive(run, tmp_path / "out", tables, masked=True))
    assert {name for name, text in texts(folder).items() if TELL in text.lower()} == set()
    spec = json.loads(next(folder.rglob("w1/spec.json")).read_text())
    assert spec["meeting"].startswith("/run/tasks/loader-n2-b1")
    assert spec["params"]["factory"].startswith("code-")
    inputs = json.loads((folder / "provenance.json").read_text())["input_files"]
    assert [file["name"] for file in inputs] == ["input-1.svs", "input-2.ome.zarr/0/0"]


@pytest.mark.parametrize(
    ("factory", "names"),
    [
        (
            "lab.ada.loading:slides",
            ["lab.ada.loading:slides", "lab.ada", "lab.ada.loading", "slides"],
        ),
        # Code that anybody can have keeps its name.
        ("pyscale", []),
        ("wsistream", []),
        ("pyscale_stages.loader.x:make", []),
    ],
)
def test_all_that_an_error_may_call_code_of_ones_own_is_known(factory, names):
    assert list(own_code(factory)) == names


def test_datasets_and_truth_of_the_users_own_are_masked(dataset, tmp_path, movie):
    own = movie.rename(tmp_path / f"{TELL}.ome.tif")
    truth = tmp_path / f"truth of {TELL}"
    truth.mkdir()
    write_movie(truth / f"{TELL}_0.tif", np.zeros((1, 4, 4), np.uint16), "TYX")
    (tmp_path / "own.toml").write_text(
        "name = 'labels'\nsummary = 's'\n[stages.segment]\ninputs = {frames = 'movie'}\n"
        "truth = 'camera'\n[stages.track]\ninputs = {labels = 'movie'}\n"
        f"data = '{tmp_path}/{TELL}.ome.tif'\n"
    )
    suite, movie = load_suite(str(tmp_path / "own.toml")), Dataset(own, frames=8)
    given = {"repeats": 1, "data": str(own), "truth": truth, "own_data": {str(own): movie}}
    plan = plan_of(suite, replace(movie, own_truth=truth), tmp_path, **given)
    run = carried_out(plan, tmp_path)
    folder = unpacked(archive(run, tmp_path / "out", tables, masked=True))
    assert {name for name, text in texts(folder).items() if TELL in text.lower()} == set()
    masked = find_run(tmp_path, str(folder)).plan
    assert {trial.data for trial in masked.trials} == {None, masked.own_data[0].data}
