"""The user's mistakes end in one sentence, exit code 2, and nothing lost."""

from pathlib import Path

import numpy as np
import pytest
import tifffile

from pyscale_stages.measure.cpus import usable_cpus
from pyscale_stages.moviewriter import write_movie
from refusals import assert_refused

PLAN = ("run", "pipeline", "--dry-run", "--workers", "1", "--data")


@pytest.fixture
def bad_movie(home):
    good = np.arange(8 * 32 * 32, dtype=np.uint16).reshape(8, 32, 32)

    def make(what):
        path = home / f"{what}.ome.tif"
        if what == "empty":
            path.touch()
        elif what == "text":
            path.write_text("these are no pixels")
        elif what == "truncated":
            write_movie(path, good, "TYX")
            path.write_bytes(path.read_bytes()[:3000])
        elif what == "zstack":
            tifffile.imwrite(path, good, ome=True, metadata={"axes": "ZYX"})
        return path

    return make


@pytest.mark.parametrize("what", ["empty", "text", "truncated", "zstack", "absent"])
def test_run_refuses_a_movie_that_cannot_be_used(pyscale, bad_movie, what):
    assert_refused(pyscale(*PLAN, bad_movie(what)))
    assert not Path("runs").exists()


WRONG = [
    "run pipelin",
    "run",
    "run pipeline --data cancer-migratio",
    "run labels --workers one --dry-run",
    "run labels --workers 0 --dry-run",
    "run labels --repeats 0 --dry-run",
    "run labels --cache hot --dry-run",
    "run labels --executor slrm --dry-run",
    "run labels --cpus-per-worker 4000 --data LABELS",
    "run labels --workers 99 --data LABELS",
    "run labels --only trak --data LABELS",
    "run labels --device cuda --data LABELS --only contact",
    "resume 20200101T000000Z-none",
    "extend x --repeats 6",
    "extend x",
    "run LABELS",
    "run labels --set trak.a=1 --data LABELS",
    "run labels --set track.max_distnce_px=1 --data LABELS",
    "run none.toml",
    "status",
    "status none",
    "cancel none",
    "report none",
    "report --table none.csv",
    "status --watch --json",
    "status --json --log",
    "status --watch --log",
]
"""Words of a command line; LABELS stands for a movie of labels."""


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_command_says_what_and_where(pyscale, labels, words):
    given = words.replace("LABELS", str(labels)).split()
    assert_refused(pyscale(*given))


def test_more_workers_than_cores_are_warned_of(pyscale, labels):
    options = ("--workers", "1,2", "--cpus-per-worker", len(usable_cpus()), "--dry-run")
    answer = pyscale("run", "labels", "--data", labels, *options)
    assert answer.code == 0
    assert "warning: this machine cannot give each of N = 2 workers" in answer.err


def test_a_misspelt_key_of_the_config_is_named_with_the_nearest(pyscale):
    Path("pyscale.toml").write_text("wrkers = [1, 2]\n")
    assert_refused(pyscale("config", "show"))


def test_a_misspelt_stage_parameter_of_the_config_is_named(pyscale, labels):
    Path("pyscale.toml").write_text("[stages.track]\nmax_distanc_px = 3\n")
    assert_refused(pyscale("run", "labels", "--data", labels, "--dry-run"))


@pytest.mark.smoke
def test_a_stage_that_refuses_its_input_fails_its_trial_in_one_sentence(pyscale, home):
    write_movie(home / "blank.ome.tif", np.zeros((4, 16, 16), np.uint16), "TYX")
    options = ("--workers", "1", "--repeats", "1", "--only", "contact", "--set", "retries=0")
    answer = pyscale("run", "labels", "--data", home / "blank.ome.tif", *options)
    assert answer.code == 1
    assert "contact-n1-b1 failed: " in answer.err
    assert "no frame of blank.ome.tif has a label" in answer.err
    assert "Traceback" not in answer.err
    assert "1 of 1 trials are not complete" in answer.err
