"""What a run says before it starts."""

import pytest

from pyscale.commands.running import warn_of_sharing
from pyscale.planning.placement import Placement


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
