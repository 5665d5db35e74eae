import shutil
import time
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest
import tifffile

from pyscale_stages.commandline import main
from pyscale_stages.movie import Movie
from pyscale_stages.track.lineage import links_of, read_tracks
from refusals import assert_held

CENTRES = [
    # A cell that divides after frame 1, and one that is lost in frame 2.
    [(20, 30), (70, 90)],
    [(20, 30), (70, 90)],
    [(17, 30), (24, 30)],
    [(16, 30), (25, 30), (70, 90)],
]
LINKS = {((0, 0), (1, 0)), ((0, 1), (1, 1)), ((1, 0), (2, 0)), ((1, 0), (2, 1))}
LINKS |= {((2, 0), (3, 0)), ((2, 1), (3, 1)), ((1, 1), (3, 2))}
"""As frame and place in it."""


@pytest.fixture
def labels(label_movie):
    return label_movie(CENTRES)


@pytest.fixture
def tracked(labels, bench):
    folder = bench.done("run", labels, output="tracked")
    tracks = read_tracks(folder)
    cells = tracks.detections
    ends = [tuple(zip(cells.frame[i], cells.label[i] - 1, strict=True)) for i in links_of(tracks)]
    assert {tuple(map(tuple, pair)) for pair in ends} == LINKS
    return folder


def export(folder, form, output, *options):
    line = ["track", "export", "--input", folder, "--as", form, "--output", output, *options]
    return main([str(word) for word in line], time.monotonic())


def test_the_table_has_a_line_for_each_cell_with_its_parent(tracked, tmp_path):
    assert export(tracked, "csv", tmp_path / "out") == 0
    table = pl.read_csv(tmp_path / "out" / "tracks.csv")
    assert table.columns == ["track_id", "frame", "y_px", "x_px", "label", "parent_id"]
    assert table.select("track_id", "frame", "label", "parent_id").rows() == [
        *[(1, 0, 1, 0), (1, 1, 1, 0)],
        *[(2, 0, 2, 0), (2, 1, 2, 0), (2, 3, 3, 0)],
        *[(3, 2, 1, 1), (3, 3, 1, 1)],
        *[(4, 2, 2, 1), (4, 3, 2, 1)],
    ]
    assert table["y_px"].to_list()[:2] == [20.0, 20.0]


def test_a_folder_of_the_challenge_has_unbroken_tracks_in_masks_and_table(
    tracked, labels, tmp_path
):
    out = tmp_path / "01_RES"
    assert export(tracked, "ctc", out, "--labels", labels) == 0
    rows = np.loadtxt(out / "res_track.txt", dtype=int).tolist()
    # The lost cell's return is a track of its own, the child of what it was.
    assert rows == [[1, 0, 1, 0], [2, 0, 1, 0], [3, 2, 3, 1], [4, 2, 3, 1], [5, 3, 3, 2]]
    masks = [tifffile.imread(out / f"mask{frame:03d}.tif") for frame in range(4)]
    original = Movie.open(labels).read(0, 4, channel=0)
    for frame, (mask, image) in enumerate(zip(masks, original, strict=True)):
        assert mask.dtype == np.uint16
        assert np.array_equal(mask > 0, image > 0)
        present = {label for label, begin, end, _ in rows if begin <= frame <= end}
        assert set(np.unique(mask[mask > 0]).tolist()) == present
    assert all(masks[begin][masks[begin] == label].size == 25 for label, begin, _, _ in rows)


def test_the_challenges_own_validator_takes_the_folder(tracked, labels, tmp_path):
    validate = pytest.importorskip("ctc_metrics.scripts.validate")
    assert export(tracked, "ctc", tmp_path / "01_RES", "--labels", labels) == 0
    assert validate.validate_sequence(str(tmp_path / "01_RES"))["Valid"] == 1


def test_trackmates_document_holds_all_spots_and_links_of_families(tracked, labels, tmp_path):
    strange = labels.rename(labels.with_name('a "b" & <c>.ome.tif'))
    assert export(tracked, "trackmate", tmp_path / "out", "--labels", strange) == 0
    root = ET.parse(tmp_path / "out" / "tracks.xml").getroot()
    assert [child.tag for child in root] == ["Model", "Settings", "GUIState"]
    spots = {spot.attrib["ID"]: spot.attrib for spot in root.iter("Spot")}
    frames = root.findall("Model/AllSpots/SpotsInFrame")
    assert [len(frame) for frame in frames] == [2, 2, 2, 3]
    declared = {feature.attrib["feature"] for feature in root.iter("Feature")}
    assert declared >= {name for spot in spots.values() for name in spot} - {"ID", "name"}

    def place(spot):
        return int(spots[spot]["FRAME"]), int(spots[spot]["name"].split()[1]) - 1

    tracks = root.findall("Model/AllTracks/Track")
    edges = [
        {(place(e.attrib["SPOT_SOURCE_ID"]), place(e.attrib["SPOT_TARGET_ID"])) for e in track}
        for track in tracks
    ]
    assert set.union(*edges) == LINKS
    # The divided family is one track of TrackMate, the lost cell another.
    assert sorted(map(len, edges)) == [2, 5]
    kept = [one.attrib["TRACK_ID"] for one in root.findall("Model/FilteredTracks/TrackID")]
    assert kept == [track.attrib["TRACK_ID"] for track in tracks]
    image = root.find("Settings/ImageData")
    assert (image.attrib["filename"], image.attrib["nframes"]) == (strange.name, "4")


def test_what_cannot_be_exported_is_said_in_one_sentence(tracked, labels, bench, tmp_path, capsys):
    (window,) = bench.windows(labels, (0, 2))
    other = tmp_path / "other.ome.tif"
    shutil.copy(labels, other)
    with other.open("ab") as file:
        file.write(b"0")
    full = tmp_path / "full"
    full.mkdir()
    (full / "mask000.tif").touch()
    new = tmp_path / "new"
    for words in (
        (tracked, "geff", new),
        (tracked, "ctc", new),
        (tracked, "ctc", new, "--labels", other),
        (tracked, "ctc", full, "--labels", labels),
        (window, "csv", new),
        (tmp_path, "csv", new),
    ):
        assert export(*words) == 2
        said = capsys.readouterr().err
        assert_held(said)
        assert said.count("\n") == 1
    main(["contact", "export", "--as", "csv"], time.monotonic())
    assert "contact has no exports" in capsys.readouterr().err
