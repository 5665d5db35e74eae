"""The user's mistakes end in one sentence, exit code 2, and nothing lost."""

from pathlib import Path

import numpy as np
import pytest
import tifffile

from pyscale_stages.measure.cpus import usable_cpus
from pyscale_stages.moviewriter import write_movie

PLAN = ("run", "pipeline", "--dry-run", "--workers", "1", "--data")


def refused(answer, *fragments):
    assert answer.code == 2, answer
    sentence = answer.err.strip().splitlines()[-1]
    assert sentence.startswith("error: ")
    assert "Traceback" not in answer.err
    for fragment in fragments:
        assert fragment in sentence


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


@pytest.mark.parametrize(
    ("what", "fragment"),
    [
        ("empty", "empty (0 bytes)"),
        ("text", "not a readable TIFF file"),
        ("truncated", "truncated"),
        ("zstack", "has the axes ZYX"),
        ("absent", "absent"),
    ],
)
def test_run_refuses_a_movie_that_cannot_be_used(pyscale, bad_movie, what, fragment):
    refused(pyscale(*PLAN, bad_movie(what)), fragment)
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (("run", "pipelin"), ("unknown suite 'pipelin'", "'pipeline'")),
        (("run",), ("name a suite", "pipeline")),
        (("run", "pipeline", "--data", "cancer-migratio"), ("cancer-migratio",)),
        (("run", "labels", "--workers", "one", "--dry-run"), ("whole numbers",)),
        (("run", "labels", "--workers", "0", "--dry-run"), ("positive",)),
        (("run", "labels", "--repeats", "0", "--dry-run"), ("'repeats'",)),
        (("run", "labels", "--cache", "hot", "--dry-run"), ("'cache'", "hot")),
        (("run", "labels", "--executor", "slrm", "--dry-run"), ("'executor'",)),
        (("run", "labels", "--cpus-per-worker", "4000", "--data", "LABELS"), ("4000 cores",)),
        (("run", "labels", "--workers", "99", "--data", "LABELS"), ("99 workers", "6 frames")),
        (("run", "labels", "--only", "trak", "--data", "LABELS"), ("'trak'", "'track'")),
        (("run", "labels", "--device", "cuda", "--data", "LABELS", "--only", "contact"), ("GPU",)),
        (("resume", "20200101T000000Z-none"), ("unknown run",)),
        (("extend", "x", "--repeats", "6"), ("unknown run x",)),
        (("extend", "x"), ("give more --repeats, or other --workers",)),
        (("run", "LABELS"), ("is not a suite", "pyscale run pipeline --data ")),
        (("run", "labels", "--set", "trak.a=1", "--data", "LABELS"), ("did you mean 'track'",)),
        (
            ("run", "labels", "--set", "track.max_distnce_px=1", "--data", "LABELS"),
            ("'max_distance_px'",),
        ),
        (("run", "none.toml"), ("no suite file none.toml",)),
        (("status",), ("no run of yours in",)),
        (("status", "none"), ("unknown run none",)),
        (("cancel", "none"), ("unknown run none",)),
        (("report", "none"), ("unknown run none",)),
        (("report", "--table", "none.csv"), ("none.csv",)),
    ],
)
def test_a_wrong_command_says_what_and_where(pyscale, labels, arguments, fragments):
    refused(pyscale(*(str(labels) if a == "LABELS" else a for a in arguments)), *fragments)


def test_a_state_is_shown_in_one_way_at_a_time(pyscale):
    for pair in (("--watch", "--json"), ("--json", "--log"), ("--watch", "--log")):
        answer = pyscale("status", *pair)
        assert answer.code == 2
        assert "give one of --watch, --json and --log" in answer.err


def test_more_workers_than_cores_are_warned_of(pyscale, labels):
    options = ("--workers", "1,2", "--cpus-per-worker", len(usable_cpus()), "--dry-run")
    answer = pyscale("run", "labels", "--data", labels, *options)
    assert answer.code == 0
    assert "warning: this machine cannot give each of N = 2 workers" in answer.err


def test_a_misspelt_key_of_the_config_is_named_with_the_nearest(pyscale):
    Path("pyscale.toml").write_text("wrkers = [1, 2]\n")
    refused(pyscale("config", "show"), "pyscale.toml", "'wrkers'", "'workers'")


def test_a_misspelt_stage_parameter_of_the_config_is_named(pyscale, labels):
    Path("pyscale.toml").write_text("[stages.track]\nmax_distanc_px = 3\n")
    refused(pyscale("run", "labels", "--data", labels, "--dry-run"), "track", "'max_distance_px'")


@pytest.mark.smoke
def test_a_stage_that_refuses_its_input_fails_its_trial_in_one_sentence(pyscale, home):
    write_movie(home / "blank.ome.tif", np.zeros((4, 16, 16), np.uint16), "TYX")
    options = ("--workers", "1", "--repeats", "1", "--only", "contact", "--set", "retries=0")
    answer = pyscale("run", "labels", "--data", home / "blank.ome.tif", *options)
    assert answer.code == 1
    assert "contact-n1-b1 failed: " in answer.err
    assert "empty" in answer.err
    assert "Traceback" not in answer.err
    assert "1 of 1 trials are not complete" in answer.err
