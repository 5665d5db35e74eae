"""A dry run shows the scripts of a run on a cluster, each once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyscale.dryrun import scripts
from pyscale.plan import Plan
from pyscale.sites import load_site
from pyscale.store.folder import RunFolder

PlanMaker = Callable[..., Plan]


def test_batches_that_submit_the_same_are_told_together(make: PlanMaker) -> None:
    plan = make(only=("register_denoise",), repeats=2)
    found = scripts(plan, load_site("plain"))
    assert [sorted(names) for names in found] == [
        ["register_denoise-n1-b1/windows", "register_denoise-n1-b2/check"]
        + ["register_denoise-n1-b2/windows"]
        + [f"register_denoise-n2-b{b}/{batch}" for b in (1, 2) for batch in ("check", "merge")],
        ["register_denoise-n2-b1/windows", "register_denoise-n2-b2/windows"],
    ]
    for (first, *_), text in found.items():
        assert f"#SBATCH --comment={first}\n" in text


def test_scripts_name_the_folder_that_the_run_will_have(make: PlanMaker, tmp_path: Path) -> None:
    plan = make(only=("register_denoise",), repeats=1)
    (_, text) = next(iter(scripts(plan, load_site("plain")).items()))
    run = RunFolder.create(tmp_path / "runs", plan)
    assert f"--output={run.submissions}/" in text
