import os
from pathlib import Path

import pytest

from pyscale.executors import containernode
from pyscale.executors.containernode import left_scratch, prepared, scratch_prefix

ORDER = {
    "passed": ["SLURM_JOB_ID", "OMP_PLACES"],
    "gpu": False,
    "scratch_prefix": "pyscale-0123abcd-",
}


@pytest.fixture(autouse=True)
def node_scratch(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_named_variables_and_the_tasks_own_reach_the_inside(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "42")
    monkeypatch.setenv("SECRET", "x")
    monkeypatch.delenv("OMP_PLACES", raising=False)
    with prepared(ORDER, {"CUDA_VISIBLE_DEVICES": "GPU-1"}) as environment:
        inside = {name for name in environment if name.startswith("APPTAINERENV_")}
        assert inside == {"APPTAINERENV_SLURM_JOB_ID", "APPTAINERENV_CUDA_VISIBLE_DEVICES"}
        assert environment["APPTAINERENV_SLURM_JOB_ID"] == "42"
        assert "APPTAINER_NV" not in environment
    # A value of the task wins over the node's.
    monkeypatch.setenv("OMP_PLACES", "cores")
    with prepared(ORDER, {"OMP_PLACES": "threads"}) as environment:
        assert environment["APPTAINERENV_OMP_PLACES"] == "threads"


@pytest.mark.parametrize(
    ("devices", "option"),
    [((), "NV"), (("nvidiactl",), "NV"), (("kfd",), "ROCM"), (("kfd", "nvidiactl"), "NV")],
)
def test_the_gpus_of_the_node_decide_the_option(tmp_path, monkeypatch, devices, option):
    for name in devices:
        (tmp_path / name).touch()
    monkeypatch.setattr(containernode, "AMD_DEVICE", tmp_path / "kfd")
    monkeypatch.setattr(containernode, "NVIDIA_DEVICES", (tmp_path / "nvidiactl",))
    with prepared(ORDER | {"gpu": True}, {}) as environment:
        options = {name for name in ("NV", "ROCM") if f"APPTAINER_{name}" in environment}
    assert options == {option}


def test_scratch_of_killed_launchers_is_found_with_its_session(node_scratch):
    mine, theirs = Path("/runs/20260317T114224Z-k3f9"), Path("/runs/20260317T114224Z-aaaa")
    with prepared(ORDER | {"scratch_prefix": scratch_prefix(mine)}, {}) as environment:
        (node_scratch / f"{scratch_prefix(theirs)}77-x1").mkdir()
        mine_only = Path(environment["APPTAINER_WORKDIR"])
        assert left_scratch(mine) == {mine_only: os.getsid(0)}
    assert left_scratch(mine) == {}
    assert list(left_scratch(theirs).values()) == [77]


RUN = Path("/runs/20260317T114224Z-k3f9")


@pytest.mark.parametrize("name", ["evil", "", "-", "x-y", "99999999999999999999x"])
def test_a_folder_of_another_name_and_a_link_are_passed_over(node_scratch, name):
    (node_scratch / f"{scratch_prefix(RUN)}{name}").mkdir()
    (node_scratch / f"{scratch_prefix(RUN)}77-x1").symlink_to(node_scratch)
    assert left_scratch(RUN) == {}


def test_what_another_user_put_there_and_a_copy_of_a_run_are_passed_over(node_scratch, missing):
    (node_scratch / f"{scratch_prefix(RUN)}77-x1").mkdir()
    assert left_scratch(Path("/elsewhere") / RUN.name) == {}
    assert len(left_scratch(RUN)) == 1
    if os.geteuid() != 0:
        missing("root", "run the tests as root, who alone may give folders away")
    os.chown(node_scratch / f"{scratch_prefix(RUN)}77-x1", 65534, 65534)
    assert left_scratch(RUN) == {}
