"""A dry run shows the scripts of a run on a cluster, each once."""

import json
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from mockruns import site
from pyscale.analysis.spending import Prices
from pyscale.app import app
from pyscale.commands import dryrun
from pyscale.commands.running import work_off
from pyscale.doctor.preflight import of_dry_run, say
from pyscale.errors import UserError
from pyscale.planning.placement import Placement
from pyscale.planning.sites import load_site
from pyscale.starting import warn_of_sharing
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale_stages.measure.nodename import host_name

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SITE = load_site("plain")


def show(plan, **options):
    dryrun.show(plan, of_dry_run(plan), **options)


def rows(capsys):
    lines = capsys.readouterr().out.splitlines()
    return {
        name: rest.strip()
        for name, _, rest in (line.partition(" ") for line in lines if line[:1].strip())
    }


def test_a_dry_run_on_this_machine_is_five_lines(make, capsys):
    show(make(only=("register_denoise",), repeats=2))
    said = rows(capsys)
    assert list(said) == ["measure", "trials", "time", "disk", "missing"]
    assert said["measure"] == "pipeline on cancer-migration (8 frames): register_denoise"
    # N = 1 is one window, and twice compared but for the first; N = 2 has two, and a merge.
    assert said["trials"] == "4 (11 tasks) at N = 1 and 2"
    assert said["time"].startswith("unknown")
    assert said["missing"] == "nothing"


TAKES_ALL = {
    "sinfo": """
case "$*" in
  *version*) echo "slurm 22.05.8" ;;
  *%N*) echo 'n1 idle' ;;
  *%P*) echo 'day*' ;;
  *%R*) echo day ;;
  *%l*) echo infinite ;;
esac
""",
    **dict.fromkeys(("sbatch", "squeue", "scancel"), "exit 0"),
}
REFUSES_CONSTRAINT = """
case "$*" in *test-only*) echo 'sbatch: error: Invalid feature specification' >&2; exit 1 ;; esac
"""


def test_a_dry_run_for_a_cluster_asks_slurm_and_says_what_is_not_known(
    make, capsys, put_on_path, tmp_path, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "200")
    plan = make(only=("register_denoise",), repeats=2, on_site=SITE)
    put_on_path(**TAKES_ALL)
    show(plan)
    assert rows(capsys)["missing"] == "nothing; Slurm would take the job"
    put_on_path(sinfo="case $* in *version*) ;; *) echo 'error: gone' >&2; exit 1 ;; esac")
    show(plan)
    assert rows(capsys)["missing"] == (
        "nothing here; whether Slurm takes the job is unknown: Slurm's controller does not answer "
        "(gone)"
    )
    put_on_path(**TAKES_ALL | {"sbatch": REFUSES_CONSTRAINT})
    show(plan)
    assert "missing" not in rows(capsys)
    with pytest.raises(UserError, match="Invalid feature specification"):
        say(of_dry_run(plan))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    show(plan)
    unknown = "whether Slurm takes the job is unknown: Slurm's commands are not on PATH"
    assert unknown in rows(capsys)["missing"]
    say(of_dry_run(plan))


def test_the_time_is_that_of_earlier_runs_of_the_same_work(make, tmp_path, capsys):
    earlier = RunFolder.create(tmp_path / "runs", make(only=("register_denoise",), repeats=1))
    journal = Journal(earlier.journal_file)
    journal.append("run_started", detail=f"process 1 on {host_name()}")
    for trial in earlier.plan.trials:
        with patch("pyscale.store.journal.datetime") as clock:
            clock.now.side_effect = [NOW, NOW + timedelta(seconds=60)]
            journal.append("trial_started", trial.id)
            journal.append("trial_finished", trial.id)
    show(make(only=("register_denoise",), repeats=2))
    assert rows(capsys)["time"] == "about 4 min, by earlier runs here"
    show(make(workers=(1, 4), only=("register_denoise",), repeats=1))
    assert rows(capsys)["time"] == "more than 60 s (1 of 2 trials unknown)"
    for other in ({"cache": "warm"}, {"stages": {"register_denoise": {"transform": "Rigid"}}}):
        show(make(only=("register_denoise",), repeats=1, **other))
        assert rows(capsys)["time"].startswith("unknown")


def priced(make, **prices):
    own = load_site("plain").model_copy(update={"prices": Prices(currency="EUR", **prices)})
    return make(only=("register_denoise",), repeats=1).model_copy(update={"site": own})


def cost_row(told):
    """Cells of the row of what the jobs hold."""
    lines = told.out.splitlines()
    head = next(number for number, line in enumerate(lines) if "core-hours used" in line)
    return [cell.strip() for cell in lines[head + 2].strip("│").split("│")]


def test_prices_of_the_site_give_the_cost_in_money(make, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    show(priced(make, core_hour=0.25))
    told = capsys.readouterr()
    # An hour for N = 1, and for N = 2 one each for windows, merge and check, on two cores.
    jobs, used, idle, gpus, _, price, *_ = cost_row(told)
    assert (jobs, gpus) == ("1", "0.0")
    assert float(price) == pytest.approx(0.25 * (float(used) + float(idle)))
    assert "money (EUR)" in told.out
    # It is open where what jobs hold has no price.
    show(priced(make, gpu_hour=2))
    told = capsys.readouterr()
    assert cost_row(told)[5] == "?"
    said = " ".join(told.err.split())
    assert "has prices under [prices], but not of all that the jobs hold" in said
    show(make(only=("register_denoise",), repeats=1).model_copy(update={"site": SITE}))
    assert "money" not in capsys.readouterr().out


@pytest.mark.parametrize("where", [[], ["--executor", "slurm", "--site", "plain"]])
@pytest.mark.parametrize(
    ("flags", "stages", "missing"),
    [
        (["reconstruct", "--only", "tomography_3d"], {"weights": "none.pth"}, "none.pth cannot be"),
        (["pipeline", "--only", "segment", "--data", "movie.ome.tif"], {"model": "cyto3"}, "cyto3"),
    ],
)
def test_weights_that_are_not_there_are_missed_as_a_run_would_miss_them(
    movie, monkeypatch, flags, stages, missing, where
):
    monkeypatch.chdir(movie.parent)
    monkeypatch.setenv("CELLPOSE_LOCAL_MODELS_PATH", str(movie.parent))
    stage = "reconstruct" if "weights" in stages else "segment"
    monkeypatch.setenv("PYSCALE_STAGES", json.dumps({stage: stages}))
    line = ["run", *flags, "--workers", "1", "--repeats", "1", *where]
    said = []
    for asked in (["--dry-run"], []):
        done = CliRunner().invoke(app, [*line, *asked])
        assert isinstance(done.exception, UserError)
        assert "trials" in done.output or not asked
        assert "missing" not in done.output
        said.append(str(done.exception))
    assert missing in said[0]
    assert said[0] == said[1]
    assert not (movie.parent / "runs").exists()


@pytest.mark.parametrize(
    ("cores", "device", "lacks"),
    [(8, "cpu", ""), (1, "cpu", "1 core(s)"), (8, "cuda", "GPUs"), (1, "cuda", "1 core(s)")],
)
def test_workers_that_must_share_are_told_what_the_machine_lacks(
    make, monkeypatch, capsys, cores, device, lacks
):
    placement = Placement(range(cores), 1, ("a",))
    monkeypatch.setattr("pyscale.starting.local_placement", lambda _cores: placement)
    warn_of_sharing(make(device=device))
    said = " ".join(capsys.readouterr().err.split())
    assert f"cannot give each of N = 2 workers {lacks} of its own" in said if lacks else not said


def test_a_run_on_slurm_is_not_worked_off_outside_of_its_jobs(make, tmp_path, monkeypatch):
    run = RunFolder.create(tmp_path / "runs", make(on_site=site()))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(UserError, match=f"pyscale resume {run.path.name}"):
        work_off(str(run.path))
