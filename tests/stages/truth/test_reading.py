"""Truth in the formats of others, told apart by what is in the folder."""

import imagecodecs
import numpy as np
import pytest
import tifffile

from pyscale_stages.errors import BadInput
from pyscale_stages.truth.reading import (
    kind_of,
    own_contacts,
    own_labels,
    own_tracks,
    refuse_unfit,
    tells,
)
from refusals import refused

MOTHER = np.zeros((20, 30), np.uint16)
MOTHER[4:8, 4:10] = 7
DAUGHTERS = np.zeros((20, 30), np.uint16)
DAUGHTERS[4:8, 4:7] = 8
DAUGHTERS[4:8, 7:10] = 400_000 % 65_536


def labels_of(path):
    labels = own_labels(path)
    return [np.unique(image).tolist() for _, image in labels.frames(0, 9)]


def ctc(folder, prefix, table=""):
    folder.mkdir(parents=True)
    for frame, image in enumerate((MOTHER, DAUGHTERS)):
        tifffile.imwrite(folder / f"{prefix}{frame:03}.tif", image)
    if table:
        name = "man_track.txt" if prefix.startswith("man") else "res_track.txt"
        (folder / name).write_text(table)
    return folder


TABLE = f"7 0 0 0\n8 1 1 7\n{DAUGHTERS.max()} 1 1 7\n"


@pytest.mark.parametrize(
    ("inside", "prefix"), [(".", "mask"), (".", "man_track"), ("TRA", "man_track")]
)
def test_tracks_of_the_challenge_have_parents(tmp_path, inside, prefix):
    ctc(tmp_path / "01" / inside, prefix, TABLE)
    path = tmp_path / "01"
    assert (kind_of(path), tells(path)) == ("ctc", {"labels", "tracks"})
    tracks = own_tracks(path).sort("track_id")
    assert tracks.select("track_id", "parent_id", "frame").rows() == [
        (7, 0, 0),
        (8, 7, 1),
        (int(DAUGHTERS.max()), 7, 1),
    ]
    assert tracks.select("y_px", "x_px").row(0) == (5.5, 6.5)


def test_segmentation_comes_before_markers_and_may_lack_frames(tmp_path):
    ctc(tmp_path / "TRA", "man_track", TABLE)
    (tmp_path / "SEG").mkdir()
    tifffile.imwrite(tmp_path / "SEG" / "man_seg001.tif", MOTHER)
    labels = own_labels(tmp_path)
    assert [(frame, image.max()) for frame, image in labels.frames(0, 2)] == [(1, 7)]
    labels.refuse_unfit(2)
    with refused(BadInput):
        labels.refuse_unfit(1)


def test_label_images_are_a_stack_an_image_or_a_file_for_each_frame(tmp_path):
    tifffile.imwrite(tmp_path / "stack.tif", np.stack([MOTHER, DAUGHTERS]))
    (tmp_path / "png").mkdir()
    for frame in (10, 9):
        image = MOTHER if frame == 9 else DAUGHTERS
        (tmp_path / "png" / f"t{frame}.png").write_bytes(imagecodecs.png_encode(image))
    expected = [[0, 7], [0, 8, int(DAUGHTERS.max())]]
    assert labels_of(tmp_path / "stack.tif") == labels_of(tmp_path / "png") == expected
    assert labels_of(tmp_path / "png" / "t9.png") == expected[:1]
    assert tells(tmp_path / "png") == {"labels"}
    with refused(BadInput):
        own_labels(tmp_path / "png" / "t9.png").refuse_unfit(2)


def test_contacts_are_counted_from_labels_which_alone_have_no_tracks(tmp_path):
    tifffile.imwrite(tmp_path / "labels.tif", DAUGHTERS)
    cells, contacts = own_contacts(tmp_path / "labels.tif")
    assert len(cells) == 2
    assert contacts.rows() == [(0, 8, int(DAUGHTERS.max()), 4)]
    tifffile.imwrite(tmp_path / "a.tif", MOTHER)
    with refused(BadInput):
        own_tracks(tmp_path / "a.tif")
    folder = ctc(tmp_path / "b", "man_seg")
    assert tells(folder) == {"labels"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tif", b""),
        ("a.tif", b"II*\0 not a tiff"),
        ("a.png", b"\x89PNG\r\n\x1a\n"),
        ("a.png", imagecodecs.png_encode(np.zeros((4, 4, 3), np.uint8))),
        ("a.tif", np.full((4, 4), 0.5, np.float32)),
        ("a.tif", np.full((4, 4), -1, np.int16)),
        ("a.csv", b"1,2"),
        ("nowhere", None),
    ],
    ids=["empty", "a cut TIFF", "a cut PNG", "colours", "fractions", "below zero", "CSV", "absent"],
)
def test_what_is_not_understood_is_one_sentence(tmp_path, name, content):
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    elif content is not None:
        tifffile.imwrite(tmp_path / name, content)
    with refused(BadInput) as raised:
        labels_of(tmp_path / name)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("table", ["1 2 3\n", "a b c d\n", "1 0 0\n0\n", "\xff"])
def test_a_damaged_table_of_tracks_is_refused(tmp_path, table):
    ctc(tmp_path / "a", "mask", " ")
    (tmp_path / "a" / "res_track.txt").write_text(table, encoding="latin-1")
    with refused(BadInput):
        own_tracks(tmp_path / "a")


def trackmate(file, edges, image="", kept='<TrackID TRACK_ID="4"/>'):
    spots = [(0, 0, 3.0, 1), (1, 1, 4.0, 1), (2, 2, 5.0, 1), (3, 2, 8.0, 1), (4, 2, 9.0, 0)]
    told = "".join(
        f'<SpotsInFrame frame="{frame}"><Spot ID="{spot}" FRAME="{frame}" POSITION_X="{x}" '
        f'POSITION_Y="2.0" VISIBILITY="{shown}" /></SpotsInFrame>'
        for spot, frame, x, shown in spots
    )
    links = "".join(f'<Edge SPOT_SOURCE_ID="{a}" SPOT_TARGET_ID="{b}" />' for a, b in edges)
    file.write_text(
        f'<TrackMate version="7"><Model spatialunits="pixel"><AllSpots>{told}</AllSpots>'
        f'<AllTracks><Track TRACK_ID="4">{links}</Track></AllTracks><FilteredTracks>{kept}'
        f"</FilteredTracks></Model><Settings>{image}</Settings></TrackMate>"
    )
    return file


def test_a_family_of_trackmate_is_divided_into_tracks(tmp_path):
    # The second edge is told backwards, as TrackMate may.
    file = trackmate(tmp_path / "a.xml", [(0, 1), (2, 1), (1, 3)])
    assert (kind_of(file), tells(file)) == ("trackmate", {"tracks"})
    rows = own_tracks(file).sort("frame", "x_px")
    assert rows.select("frame", "track_id", "parent_id", "y_px", "x_px").rows() == [
        (0, 1, 0, 2.0, 3.0),
        (1, 1, 0, 2.0, 4.0),
        (2, 2, 1, 2.0, 5.0),
        (2, 3, 1, 2.0, 8.0),
    ]
    with refused(BadInput):
        own_labels(file)
    refuse_unfit(file, 3)
    with refused(BadInput):
        refuse_unfit(file, 2)


def test_tracks_that_trackmate_filtered_away_are_no_truth_and_micrometres_become_pixels(tmp_path):
    file = trackmate(tmp_path / "a.xml", [(0, 1), (1, 2)], kept="")
    assert sorted(own_tracks(file)["track_id"]) == [1, 2, 3, 4]
    image = '<ImageData pixelwidth="0.5" pixelheight="0.25" />'
    file = trackmate(tmp_path / "a.xml", [(0, 1)], image)
    assert own_tracks(file).select("y_px", "x_px").row(0) == (8.0, 6.0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<TrackMate>",
        "<svg/>",
        '<TrackMate><Model spatialunits="µm"/></TrackMate>',
    ],
)
def test_other_xml_is_no_truth(tmp_path, text):
    (tmp_path / "a.xml").write_text(text, encoding="utf-8")
    with refused(BadInput):
        own_tracks(tmp_path / "a.xml")


def test_an_edge_to_nowhere_and_merging_tracks_are_refused(tmp_path):
    with refused(BadInput):
        own_tracks(trackmate(tmp_path / "a.xml", [(0, 77)]))
    with refused(BadInput):
        own_tracks(trackmate(tmp_path / "a.xml", [(0, 3), (1, 3)]))
