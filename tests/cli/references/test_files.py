"""A reference is read from its two files, or one sentence says what is wrong with them."""

import json

import pytest

from mockruns import carry_out
from pyscale.errors import UserError
from pyscale.references.files import all_references, load_reference
from refusals import refused


def test_a_reference_of_ones_own_is_read_beside_those_of_pyscale(own, write, tmp_path):
    path = write("ours")
    names = list(all_references(own))
    assert {"pycyto", "cellpose-devices"} <= set(names)
    assert names[-1] == "ours"
    assert load_reference("ours", own).table["wall_s"].to_list() == [80, 50, 9]
    with refused(UserError):
        load_reference("pycito", own)
    # No folder is needed.
    assert "pycyto" in all_references(tmp_path / "nowhere")
    path.write_bytes(b"\xff\xfe")
    with refused(UserError):
        load_reference("ours", own)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title =", "titel ="),
        ('title = "Our cluster"', ""),
        ("sweep =", "sweep "),
        ('["One run."]', "[]"),
        ('"segment"', '"segmnet"'),
        ("title =", 'name = "x"\ntitle ='),
        ("cells =", "cell ="),
        ('"workers"', '"wrkers"'),
        ('processor = "not told"', ""),
    ],
)
def test_a_wrong_toml_is_one_sentence(own, write, toml, old, new):
    path = write(toml=toml.replace(old, new, 1))
    with refused(UserError) as refusal:
        load_reference("ours", own)
    assert str(path.parent) in str(refusal.value)
    assert "\n" not in str(refusal.value).partition("no TOML")[0]


@pytest.mark.parametrize(
    ("sweep", "csv"),
    [
        ("workers", None),
        ("workers", ""),
        ("workers", "stage,workers,wall_s\n"),
        ("workers", "stage,workers,wall\ncells,1,2\n"),
        ("workers", "stage,workers,wall_s\ncells,1,fast\n"),
        ("workers", "stage,workers,wall_s\nother,1,2\n"),
        # A table of anything else needs rows, the sweep and the stages.
        ("length_px", ""),
        ("length_px", "stage,length_px\n"),
        ("length_px", "length_px\n5\n"),
        ("length_px", "stage,side_px\ncells,5\n"),
    ],
)
def test_a_missing_or_wrong_csv_is_one_sentence(own, write, toml, sweep, csv):
    write(toml=toml.replace('"workers"', f'"{sweep}"'), csv=csv)
    with refused(UserError):
        load_reference("ours", own)


def test_a_report_goes_on_without_a_reference_that_is_wrong_and_is_told_of_it(own, write):
    write("ours", csv=None)
    write("theirs")
    told = []
    found = all_references(own, told.append)
    assert ("theirs" in found, "ours" in found) == (True, False)
    (sentence,) = told
    assert sentence.startswith("reference left out: the reference ours has no numbers")
    # The name of a shipped reference is taken: a report has the shipped one.
    write("pycyto")
    told.clear()
    assert all_references(own, told.append)["pycyto"].reference.title == "pyCyto, A100"
    left_out = f"reference left out: {own / 'pycyto.toml'} has the name"
    assert any(sentence.startswith(left_out) for sentence in told)


def test_other_tables_keep_their_columns_and_have_no_configurations(own, write, toml):
    csv = "stage,length_px,wall_s\ncells,224,0.98\n"
    write(toml=toml.replace('"workers"', '"length_px"'), csv=csv)
    loaded = load_reference("ours", own)
    assert loaded.table.rows() == [("cells", 224, 0.98)]
    assert loaded.configurations() is None
    assert loaded.grids() == ()


def test_a_table_of_devices_is_read_as_reports_read_it(own, write, toml):
    toml = toml.replace('"workers"', '"length_px"')
    write(toml=toml, csv="stage,device,length_px,time_s\ncells,cpu,224,8\ncells,gpu,224,2\n")
    loaded = load_reference("ours", own)
    assert loaded.table.columns == ["stage", "device", "length_px", "wall_s"]
    (grid,) = loaded.grids()
    assert grid.ratios["ratio"].to_list() == [4]
    write(toml=toml, csv="stage,device,length_px,time_s\ncells,cpu,224,8\ncells,gpu,224,0\n")
    with refused(UserError):
        load_reference("ours", own)


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
