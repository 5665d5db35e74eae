"""A reference is read from its two files, or one sentence says what is wrong with them."""

import pytest

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
