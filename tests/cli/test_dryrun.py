"""A dry run shows the scripts of a run on a cluster, each once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyscale.analysis.spending import Prices
from pyscale.dryrun import scripts, show
from pyscale.plan import Plan
from pyscale.sites import load_site
from pyscale.store.folder import RunFolder

PlanMaker = Callable[..., Plan]


def test_batches_that_submit_the_same_are_told_together(make: PlanMaker) -> None:
    plan = make(only=("register_denoise",), repeats=2)
    found = scripts(plan, load_site("plain"))
    names = [[f"{one.trial.id}/{one.batch_name}" for one in each.submissions] for each in found]
    assert [sorted(submitted) for submitted in names] == [
        ["register_denoise-n1-b1/windows", "register_denoise-n1-b2/check"]
        + ["register_denoise-n1-b2/windows"]
        + [f"register_denoise-n2-b{b}/{batch}" for b in (1, 2) for batch in ("check", "merge")],
        ["register_denoise-n2-b1/windows", "register_denoise-n2-b2/windows"],
    ]
    for each, (first, *_) in zip(found, names, strict=True):
        assert f"#SBATCH --comment={first}\n" in each.text


def test_a_script_says_what_it_is_for_however_often_it_is_submitted(make: PlanMaker) -> None:
    plan = make(only=("register_denoise",), repeats=6)
    one_task, an_array = scripts(plan, load_site("plain"))
    assert sorted(one_task.purposes()) == [
        "check at N = 1 and 2: register_denoise",
        "merge at N = 2: register_denoise",
        "windows at N = 1: register_denoise",
    ]
    assert list(an_array.purposes()) == ["windows at N = 2: register_denoise"]
    assert len(an_array.submissions) == 6


@pytest.mark.parametrize("width", [60, 80])
def test_a_narrow_terminal_shows_whole_names(
    make: PlanMaker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    show(make(only=("register_denoise",), repeats=1))
    out = capsys.readouterr().out
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= width
    assert "windows" in out


def test_scripts_name_the_folder_that_the_run_will_have(make: PlanMaker, tmp_path: Path) -> None:
    plan = make(only=("register_denoise",), repeats=1)
    first, *_ = scripts(plan, load_site("plain"))
    run = RunFolder.create(tmp_path / "runs", plan)
    assert f"--output={run.submissions}/" in first.text


def priced(make: PlanMaker, **prices: object) -> Plan:
    own = load_site("plain").model_copy(update={"prices": Prices(currency="EUR", **prices)})
    return make(only=("register_denoise",), repeats=1).model_copy(update={"site": own})


def test_prices_of_the_site_give_the_cost_in_money(
    make: PlanMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    show(priced(make, core_hour=0.25))
    told = capsys.readouterr()
    total = next(line for line in told.out.splitlines() if "total" in line)
    # N = 1 has one job, and N = 2 two windows, a merge and a check, each for an hour on one core.
    assert total.split()[1:-1:2] == ["total", "5", "5.0", "0.0", "1.25"]
    assert "money (EUR)" in told.out
    assert "?" not in told.out


def test_money_is_open_where_what_jobs_hold_has_no_price(
    make: PlanMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    show(priced(make, gpu_hour=2))
    told = capsys.readouterr()
    assert next(line for line in told.out.splitlines() if "total" in line).split()[-2] == "?"
    assert "has prices under [prices], but not of all that the jobs hold" in " ".join(
        told.err.split()
    )


def test_without_prices_nothing_is_said_of_money(
    make: PlanMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    show(
        make(only=("register_denoise",), repeats=1).model_copy(update={"site": load_site("plain")})
    )
    assert "money" not in capsys.readouterr().out
