"""Flags of a run on a cluster: where they have no meaning, and what a dry run shows of them."""

import pytest


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--site", "plain"), "--site tells of a cluster, and this run is on this machine: add"),
        (("--site", "plain"), "--emit-sbatch DIR"),
        (("--layout", "gang"), "--layout tells of a cluster"),
        (("--site", "plain", "--layout", "gang"), "--site and --layout tell of a cluster"),
        (
            ("--executor", "slurm", "--device", "mps"),
            "--device mps is not available on Slurm clusters",
        ),
        (
            ("--executor", "slurm", "--site", "plan"),
            "unknown site 'plan' (name your own by the path of",
        ),
        (("--executor", "slurm", "--layout", "row"), "'layout': input should be 'array' or 'gang'"),
        (
            ("--executor", "pbs"),
            "the setting from --executor is wrong: 'executor': input should be 'local' or 'slurm'",
        ),
        (("--chunks-per-worker", "0"), "'chunks_per_worker': input should be greater than"),
        (("--emit-sbatch", "new", "--layout", "gang"), "leave out --layout"),
    ],
)
def test_what_has_no_meaning_is_refused_in_one_sentence(pyscale, labels, home, flags, sentence):
    answer = pyscale("run", "labels", "--data", labels, "--workers", "1,2", *flags)
    assert (answer.code, answer.out) == (2, "")
    assert sentence in answer.err
    assert answer.err.count("\n") == 1
    assert not (home / "runs").exists()


def test_a_dry_run_needs_no_slurm_and_says_what_it_does_not_know(
    pyscale, labels, home, monkeypatch
):
    monkeypatch.setenv("PATH", str(home))
    (home / "mine.toml").write_text(
        'name = "mine"\nsummary = "a cluster"\n[request]\nexclusive = true\ntime_min = 90\n'
    )
    flags = ("--workers", "1,2", "--repeats", "1", "--executor", "slurm", "--dry-run")
    flags += ("--allocation", "each")
    answer = pyscale("run", "labels", "--data", labels, *flags, "--site", "mine.toml")
    assert answer.code == 0
    assert "#SBATCH --array=0-1%2\n" in answer.out
    assert "#SBATCH --exclusive\n" in answer.out
    assert "Slurm does not tell how many cores they have" in answer.err
    shared = pyscale("run", "labels", "--data", labels, *flags, "--only", "contact")
    # One window, two, a merge and a check: each a core for an hour.
    assert [word for word in shared.out.split("total")[1].split() if word[0].isdigit()][:3] == [
        "5",
        "5.0",
        "0.0",
    ]
    assert not (home / "runs").exists()


def test_chunks_give_each_worker_several_windows(pyscale, labels, home):
    flags = ("--workers", "1,2", "--chunks-per-worker", "2", "--executor", "slurm", "--dry-run")
    flags += ("--allocation", "each")
    answer = pyscale("run", "labels", "--data", labels, *flags)
    assert answer.code == 0
    assert "#SBATCH --array=0-3%2\n" in answer.out
    assert "#SBATCH --array=0-1%1\n" in answer.out
