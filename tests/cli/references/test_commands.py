"""`pyscale reference list|show|add`, as people and scripts use them."""

import json

import pytest

from mockruns import carry_out
from pyscale.errors import UserError
from refusals import refused


def test_list_shows_all_and_whose_each_is(reference, write):
    path = write("ours")
    lines = reference("list").stdout.splitlines()
    (ours,) = (line for line in lines if line.split()[:1] == ["ours"])
    assert ours.split()[:5] == ["ours", "segment", "workers", "not", "told"]
    assert " you " in ours
    (theirs,) = (line for line in lines if line.split()[:1] == ["pycyto"])
    assert " pyscale " in theirs
    rows = {row["name"]: row for row in json.loads(reference("list", "--json").stdout)}
    assert rows["ours"] == {
        "name": "ours",
        "title": "Our cluster",
        "stages": ["segment"],
        "sweep": "workers",
        "measured": None,
        "shipped": False,
        "file": str(path),
    }
    assert rows["pycyto"]["shipped"]
    # A bad file is named, and the others are shown.
    write("broken", toml="title = ")
    told = reference("list")
    assert "broken.toml" in told.stderr
    assert {line.split()[0] for line in told.stdout.splitlines() if line} >= {"ours", "pycyto"}
    assert told.exit_code == 0


def test_show_as_json(reference):
    told = json.loads(reference("show", "pycyto", "--json").stdout)
    assert told["reference"]["stages"]["trackmate_ch0"] == "track"
    assert len(told["table"]) == len(told["configurations"]) == 20
    assert told["configurations"][3]["speedup"] == pytest.approx(9703 / 1508)
    other = json.loads(reference("show", "wsistream-sample", "--json").stdout)
    assert other["configurations"] is None
    assert other["table"][0]["effective_patches_per_s"] == 312
    sizes = json.loads(reference("show", "cellpose-devices", "--json").stdout)
    assert (len(sizes["table"]), len(sizes["ratios"])) == (40, 20)
    assert [one["shape"] for one in sizes["ceilings"]] == ["flattens", "flattens"]


@pytest.fixture
def done(own, run):
    carry_out(run)
    return run


@pytest.mark.slow
def test_add_makes_a_reference_that_list_and_show_find(reference, done, own):
    own.write_text("a file")
    with refused(UserError):
        reference("add", done.path)
    own.unlink()
    said = reference("add", done.path, "--name", "mine")
    assert said.stdout == f"{own / 'mine.toml'}\n"
    assert "pyscale reference show mine" in " ".join(said.stderr.split())
    assert "mine" in reference("list").stdout
    assert "16 of 16 planned trials" in reference("show", "mine").stdout
    # Without a name it has the run's.
    reference("add", done.plan.run_id)
    assert (own / f"{done.plan.run_id.lower()}.csv").is_file()


@pytest.mark.parametrize("name", ["Our cluster", "../ours", "", "-x", "ours.toml"])
def test_a_bad_name_is_one_sentence(reference, run, name):
    with refused(UserError):
        reference("add", run.path, f"--name={name}")


@pytest.mark.parametrize("name", ["pycyto", "ours"])
def test_a_name_that_is_taken_is_one_sentence_and_nothing_is_replaced(reference, run, write, name):
    path = write("ours")
    before = path.read_text()
    with refused(UserError):
        reference("add", run.path, "--name", name)
    assert path.read_text() == before


def test_what_is_unknown_or_was_not_timed_is_one_sentence(reference, run, own):
    for words in (("show", "wsistream"), ("add", "1999"), ("add", run.path)):
        with refused(UserError):
            reference(*words)
    assert not own.exists()
