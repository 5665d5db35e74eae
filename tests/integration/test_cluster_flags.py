"""Flags of a run on a cluster: where they have no meaning, a dry run, and emitted scripts."""

import pytest

from refusals import assert_refused


@pytest.mark.parametrize(
    "flags",
    [
        ("--site", "plain"),
        ("--executor", "slurm", "--site", "plan"),
        ("--executor", "pbs"),
        ("--set", "chunks_per_worker=0"),
    ],
    ids=" ".join,
)
def test_what_has_no_meaning_is_refused_in_one_sentence(pyscale, labels, home, flags):
    answer = pyscale("run", "labels", "--data", labels, "--workers", "1,2", *flags)
    assert answer.out == ""
    assert_refused(answer)
    assert not (home / "runs").exists()


def test_a_dry_run_needs_no_slurm_and_says_what_it_does_not_know(
    pyscale, labels, home, monkeypatch
):
    monkeypatch.setenv("PATH", str(home))
    (home / "mine.toml").write_text(
        'name = "mine"\nsummary = "a cluster"\n[request]\n'
        'options = ["--exclusive"]\ntime_min = 90\n'
    )
    flags = ("--workers", "1,2", "--repeats", "1", "--executor", "slurm", "--dry-run")
    answer = pyscale("run", "labels", "--data", labels, *flags, "--site", "mine.toml")
    assert answer.code == 0
    assert "#SBATCH --exclusive\n" in answer.out
    assert "Slurm does not tell how many cores they have" in answer.err
    assert not (home / "runs").exists()


def test_scripts_are_written_and_nothing_runs(pyscale, labels, home):
    line = ("run", "labels", "--data", labels, "--workers", "1,2")
    answer = pyscale(*line, "--emit", "scripts")
    assert (answer.code, answer.out) == (0, "scripts/submit.sh\n")
    assert "plain" in answer.err
    assert {path.name for path in (home / "scripts").iterdir()} == {
        *("README.md", "submit.sh", "contact-n1", "contact-n2", "track-n1", "track-n2")
    }
    assert not (home / "runs").exists()


def test_more_cores_may_be_asked_of_a_cluster_than_this_machine_has(pyscale, labels, home):
    flags = ("--workers", "2", "--cpus-per-worker", "4096", "--device", "cuda")
    answer = pyscale("run", "labels", "--data", labels, *flags, "--emit", "scripts")
    assert answer.code == 0
    text = (home / "scripts" / "contact-n2" / "windows.sbatch").read_text()
    assert "--cpus-per-task=4096" in text
    assert "--gpus-per-task=1" in text
    assert (
        "warning: contact computes on cuda, but the file of the site plain asks for no"
        in answer.err
    )


@pytest.mark.parametrize(
    "flags",
    [
        ("--site", "plan"),
        ("--repeats", "6", "--cache", "cold"),
        ("--only", "contcat"),
        ("--runtime", "apptainer"),
        ("--dry-run",),
        (),
    ],
    ids=" ".join,
)
def test_what_cannot_be_written_is_refused_and_leaves_no_folder(
    pyscale, labels, home, flags, monkeypatch
):
    monkeypatch.setenv("PYSCALE_IMAGES_FOLDER", str(home / "images"))
    workers = ("--workers", "1,2") if flags else ()
    line = ("run", "labels", "--data", labels, *workers, *flags, "--emit", "new")
    assert_refused(pyscale(*line))
    assert not (home / "new").exists()
