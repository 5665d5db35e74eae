"""What a run says before it starts."""

import pytest

from mockruns import site
from pyscale.commands.running import warn_of_sharing, work_off
from pyscale.errors import UserError
from pyscale.planning.placement import Placement
from pyscale.store.folder import RunFolder


@pytest.mark.parametrize(
    ("cores", "device", "lacks"),
    [(8, "cpu", ""), (1, "cpu", "1 core(s)"), (8, "cuda", "GPUs"), (1, "cuda", "1 core(s)")],
)
def test_workers_that_must_share_are_told_what_the_machine_lacks(
    make, monkeypatch, capsys, cores, device, lacks
):
    placement = Placement(range(cores), 1, ("a",))
    monkeypatch.setattr("pyscale.commands.running.local_placement", lambda _cores: placement)
    warn_of_sharing(make(device=device))
    said = " ".join(capsys.readouterr().err.split())
    assert f"cannot give each of N = 2 workers {lacks} of its own" in said if lacks else not said


def test_a_run_on_slurm_is_not_worked_off_outside_of_its_jobs(make, tmp_path, monkeypatch):
    run = RunFolder.create(tmp_path / "runs", make(on_site=site()))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(UserError, match=f"pyscale resume {run.path.name}"):
        work_off(str(run.path))
