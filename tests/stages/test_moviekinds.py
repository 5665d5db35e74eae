"""Every kind of files that people have is read right or refused; the table of docs/movies.md."""

import os
import re
import shutil
from pathlib import Path

import imagecodecs
import numpy as np
import pytest
import tifffile

from moviefiles import SHAPE_YX, noise, write_set
from omezarr import write_zarr
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie, refuse_cut_files
from pyscale_stages.reading import Reading

DOCS = Path(__file__).parents[2] / "docs" / "movies.md"
BEGIN, END = "<!-- table of tests/stages/test_moviekinds.py -->\n", "<!-- end of the table -->\n"
RENEW = "PYSCALE_TEST_RENEW_GOLDEN"
KINDS = {}
"""Maker of each kind, the choices that are tried in turn, and frames that are right."""


def kind(words, *choices, right=None):
    """Register what makes a kind of files in a folder and returns what is given as data."""

    def register(make):
        KINDS[words] = (make, choices or ({},), right)
        return make

    return register


def one_by_one(path, pages, **options):
    with tifffile.TiffWriter(path, **options) as writer:
        for page in pages:
            writer.write(page, contiguous=False)
    return path


def folder_of(folder, names, write=tifffile.imwrite):
    folder.mkdir()
    for name, frame in zip(names, noise(len(names)), strict=True):
        write(folder / name, frame)
    return folder


def with_png(path, frame):
    path.write_bytes(imagecodecs.png_encode(frame))


def with_jpeg(path, frame):
    path.write_bytes(imagecodecs.jpeg8_encode(frame.astype("uint8"), level=95))


@kind("pages that a program wrote one by one", right=lambda: noise(5))
def _pages(folder):
    return one_by_one(folder / "pages.tif", noise(5))


@kind(
    "OME-TIFF with named channels",
    {},
    {"channel": "GFP"},
    {"channel": "Cy5"},
    right=lambda: noise(4, 2)[:, 1],
)
def _channels(folder):
    named = {"axes": "TCYX", "Channel": {"Name": ["DAPI", "GFP"]}}
    tifffile.imwrite(folder / "two.ome.tif", noise(4, 2), ome=True, metadata=named)
    return folder / "two.ome.tif"


@kind("channels before times (axes CTYX)", {"channel": 1}, right=lambda: noise(2, 4)[1])
def _channels_first(folder):
    tifffile.imwrite(folder / "c.ome.tif", noise(2, 4), ome=True, metadata={"axes": "CTYX"})
    return folder / "c.ome.tif"


@kind(
    "a Z-stack",
    {},
    {"project": "max"},
    {"project": "mean"},
    {"plane": 2},
    {"plane": 5},
    right=lambda: noise(3, 5).max(axis=1),
)
def _stack(folder):
    tifffile.imwrite(folder / "z.tif", noise(3, 5), imagej=True, metadata={"axes": "TZYX"})
    return folder / "z.tif"


@kind("folder of an OME-TIFF in several files", right=lambda: noise(3))
def _set(folder):
    return write_set(folder / "set", noise(3))


@kind("one file of such a set")
def _part_of_a_set(folder):
    return _set(folder) / "t1.ome.tif"


@kind("such a set without its last file", {}, {"frames": 2}, right=lambda: noise(3)[:2])
def _set_without_one(folder):
    (_set(folder) / "t2.ome.tif").unlink()
    return folder / "set"


@kind("pages of several types")
def _types(folder):
    return one_by_one(folder / "t.tif", [*noise(3, dtype="uint8"), *noise(2)])


@kind("one odd page, then frames", {}, {"series": 1}, right=lambda: noise(5))
def _odd_page(folder):
    return one_by_one(folder / "odd.tif", [np.ones((32, 32), "uint16"), *noise(5)])


@kind("OME-TIFF with an overview before the movie", right=lambda: noise(6))
def _overview(folder):
    with tifffile.TiffWriter(folder / "o.ome.tif", ome=True) as writer:
        writer.write(np.ones((8, 8), "uint16"), metadata={"axes": "YX"})
        writer.write(noise(6), metadata={"axes": "TYX"})
    return folder / "o.ome.tif"


@kind("OME-TIFF of two positions", {}, {"series": 1}, right=lambda: noise(6))
def _positions(folder):
    with tifffile.TiffWriter(folder / "p.ome.tif", ome=True) as writer:
        writer.write(noise(6) + 1, metadata={"axes": "TYX"})
        writer.write(noise(6), metadata={"axes": "TYX"})
    return folder / "p.ome.tif"


@kind("OME-TIFF of a recording that was stopped", {}, {"frames": "0:5"}, right=lambda: noise(5))
def _stopped(folder):
    xml = tifffile.OmeXml()
    xml.addimage("uint16", (9, *SHAPE_YX), (9, 1, 1, *SHAPE_YX, 1), axes="TYX")
    with tifffile.TiffWriter(folder / "s.ome.tif") as writer:
        for t, frame in enumerate(noise(5)):
            description = xml.tostring() if t == 0 else None
            writer.write(frame, description=description, metadata=None, contiguous=False)
    return folder / "s.ome.tif"


@kind("ImageJ TIFF of a recording that was stopped", {}, {"frames": "5"}, right=lambda: noise(5))
def _stopped_imagej(folder):
    told = "ImageJ=1.54f\nimages=9\nframes=9\nhyperstack=true\nmode=grayscale\n"
    with tifffile.TiffWriter(folder / "s.tif") as writer:
        for t, frame in enumerate(noise(5)):
            description = told if t == 0 else None
            writer.write(frame, description=description, metadata=None, contiguous=False)
    return folder / "s.tif"


@kind(
    "ImageJ TIFF of one page and bare pixels (over 4 GB) that a copy cut",
)
def _cut_imagej(folder):
    path = folder / "large.tif"
    tifffile.imwrite(path, noise(9), imagej=True, truncate=True, metadata={"axes": "TYX"})
    path.write_bytes(path.read_bytes()[: path.stat().st_size - 20_000])
    return path


@kind(
    "57 times stored as channels (ImageJ TIFF without axes)",
    {},
    {"axes": "TYX"},
    {"axes": "CYX"},
    right=lambda: noise(57),
)
def _times_as_channels(folder):
    tifffile.imwrite(folder / "m.tif", noise(57), imagej=True)
    return folder / "m.tif"


@kind("folder with an empty frame")
def _empty_frame(folder):
    path = folder_of(folder / "f", [f"img_{t:04d}.tif" for t in range(5)])
    (path / "img_0003.tif").write_bytes(b"")
    return path


@kind("folder with a half-copied frame")
def _half_frame(folder):
    path = folder_of(folder / "f", [f"img_{t:04d}.tif" for t in range(5)])
    half = path / "img_0003.tif"
    half.write_bytes(half.read_bytes()[:4000])
    return path


@kind("folder with a half-copied packed frame")
def _half_packed_frame(folder):
    def packed(path, frame):
        tifffile.imwrite(path, frame, compression="zlib")

    path = folder_of(folder / "f", [f"img_{t:04d}.tif" for t in range(5)], packed)
    half = path / "img_0002.tif"
    half.write_bytes(half.read_bytes()[:1500])
    return path


@kind("names with a gap in their numbers", right=lambda: noise(4))
def _gap(folder):
    return folder_of(folder / "f", [f"img_{t:04d}.tif" for t in (1, 2, 5, 6)])


@kind("names without leading zeros", right=lambda: noise(12))
def _unpadded(folder):
    return folder_of(folder / "f", [f"frame{t}.tif" for t in range(1, 13)])


@kind("names with the time of day", right=lambda: noise(3))
def _times_of_day(folder):
    names = [f"cells_{time}.tif" for time in ("12-59-58", "12-59-59", "13-00-00")]
    return folder_of(folder / "f", names)


@kind("endings in mixed case", right=lambda: noise(3))
def _mixed_case(folder):
    return folder_of(folder / "f", ["Img_1.TIF", "img_2.tif", "IMG_3.Tiff"])


@kind("links to frames that lie elsewhere", right=lambda: noise(3))
def _links(folder):
    real = folder_of(folder / "real", [f"{t}.tif" for t in range(3)])
    (folder / "f").mkdir()
    for file in real.iterdir():
        (folder / "f" / file.name).symlink_to(file)
    return folder / "f"


@kind("notes, previews and hidden files beside the frames", right=lambda: noise(3))
def _others(folder):
    path = folder_of(folder / "f", [f"img_{t}.tif" for t in range(3)])
    for name in ("notes.txt", "Thumbs.db", ".DS_Store", "._img_0.tif", "preview.jpg"):
        (path / name).write_bytes(b"no frame")
    return path


@kind("files of several stems", {}, {"pattern": "gfp_*.tif"}, right=lambda: noise(6)[:3])
def _stems(folder):
    names = [f"{stem}_{t}.tif" for stem in ("gfp", "mask") for t in range(3)]
    return folder_of(folder / "f", names)


@kind(
    "a microscope's numbering of times and channels (Leica)",
    {},
    {"pattern": "*_ch01.tif"},
    right=lambda: noise(6)[1::2],
)
def _leica(folder):
    names = [f"cells_t{t:02d}_ch{c:02d}.tif" for t in range(3) for c in range(2)]
    return folder_of(folder / "f", names)


@kind(
    "a microscope's numbering of positions (Micro-Manager)",
    {},
    {"pattern": "img_channel000_position001_*"},
    right=lambda: noise(6)[3:],
)
def _micromanager(folder):
    names = [
        f"img_channel000_position{p:03d}_time{t:09d}_z000.tif" for p in range(2) for t in range(3)
    ]
    return folder_of(folder / "f", names)


@kind("folder of movies, as of a recording in parts")
def _parts(folder):
    (folder / "f").mkdir()
    for part in range(2):
        one_by_one(folder / "f" / f"movie_{part}.tif", noise(3))
    return folder / "f"


@kind("folder of PNG frames", right=lambda: noise(3))
def _png(folder):
    return folder_of(folder / "f", [f"{t:03d}.png" for t in range(3)], with_png)


@kind("folder of JPEG frames")
def _jpeg(folder):
    return folder_of(folder / "f", [f"{t:03d}.JPG" for t in range(3)], with_jpeg)


@kind("PNG frames in colours", {"channel": 1})
def _coloured(folder):
    def coloured(path, frame):
        with_png(path, np.stack([frame, frame + 1, frame + 2], axis=-1).astype("uint8"))

    return folder_of(folder / "f", [f"{t:03d}.png" for t in range(3)], coloured)


@kind("a single image", right=lambda: noise(1))
def _single(folder):
    with_png(folder / "cells.png", noise())
    return folder / "cells.png"


@kind("OME-Zarr 0.4", right=lambda: noise(4))
def _zarr4(folder):
    write_zarr(folder / "m.zarr", noise(4), "tyx", version="0.4")
    return folder / "m.zarr"


@kind(
    "OME-Zarr 0.5 with channels, planes and levels",
    {},
    {"channel": 1, "project": "max"},
    {"channel": 1, "plane": 0, "level": 1},
    {"level": 7, "plane": 0},
    right=lambda: noise(3, 2, 4)[:, 1].max(axis=1),
)
def _zarr5(folder):
    write_zarr(folder / "m.ome.zarr", noise(3, 2, 4), "tczyx")
    return folder / "m.ome.zarr"


@kind("OME-Zarr of a recording that was stopped", {}, {"frames": "0:2"}, right=lambda: noise(4)[:2])
def _stopped_zarr(folder):
    path = _zarr4(folder)
    for chunk in [*(path / "0").glob("2*"), *(path / "0").glob("3*")]:
        shutil.rmtree(chunk) if chunk.is_dir() else chunk.unlink()
    return path


@kind("OME-Zarr of several positions (bioformats2raw)", {}, {"series": 1}, right=lambda: noise(4))
def _zarr_positions(folder):
    import zarr

    group = zarr.open_group(str(folder / "m.zarr"), mode="w", zarr_format=2)
    group.attrs["bioformats2raw.layout"] = 3
    for number in range(2):
        write_zarr(folder / "m.zarr" / str(number), noise(4), "tyx", version="0.4")
    return folder / "m.zarr"


@kind("a plate as OME-Zarr")
def _plate(folder):
    import zarr

    group = zarr.open_group(str(folder / "p.zarr"), mode="w")
    group.attrs["ome"] = {"version": "0.5", "plate": {"wells": []}}
    return folder / "p.zarr"


@kind("a Zarr array that names no axes")
def _bare_zarr(folder):
    import zarr

    zarr.save_array(str(folder / "a.zarr"), noise(3))
    return folder / "a.zarr"


@kind("formats of microscopes, like ND2, CZI, LIF, IMS, OIF and VSI")
def _nikon(folder):
    (folder / "my cells.nd2").write_bytes(b"\xda\xce\xbe\x0a")
    return folder / "my cells.nd2"


@kind("video, like MP4 and AVI")
def _video(folder):
    (folder / "v.mp4").write_bytes(b"\0\0\0\x18ftypmp42")
    return folder / "v.mp4"


@kind("a page of the web saved as a TIFF, as a failed download leaves it")
def _web_page(folder):
    (folder / "m.tif").write_text("<!DOCTYPE html><title>Sign in</title>")
    return folder / "m.tif"


@kind("a packed TIFF (.tif.gz)")
def _gzip(folder):
    import gzip

    path = one_by_one(folder / "m.tif", noise(3))
    (folder / "m.tif.gz").write_bytes(gzip.compress(path.read_bytes()))
    return folder / "m.tif.gz"


@kind("frames of real numbers with an infinite pixel")
def _infinite(folder):
    frames = noise(3).astype("float32")
    frames[1, 5, 5] = np.inf
    tifffile.imwrite(folder / "m.tif", frames, metadata={"axes": "TYX"}, photometric="minisblack")
    return folder / "m.tif"


def found_of(path, choice):
    """What is said of files with a choice, and the movie where they are one."""
    try:
        movie = Movie.open(path, reading=Reading(**choice))
        refuse_cut_files(movie)
        movie.read(0, movie.n_frames)
    except BadInput as error:
        return f"refused: {error}", None
    return movie.inventory.line(), movie


def in_table(said):
    """Words without sizes in bytes, which differ with the libraries that pack."""
    said = re.sub(r", [\d.]+ [kM]?B(?=;|$)", "", said)
    return re.sub(r"\d{4,}|\d,\d{3}", "…", said).replace("|", "\\|")


@pytest.fixture(scope="module")
def rows():
    """Rows of the table, and in the end their comparison with the docs."""
    rows = {}
    yield rows
    if rows.keys() != KINDS.keys():
        return
    table = ["| what there is | what is done |\n", "|---|---|\n"]
    for words in KINDS:
        for number, (flags, said) in enumerate(rows[words]):
            name = words if number == 0 else ""
            table.append(f"| {name} | {f'`{flags}`: ' if flags else ''}{said} |\n")
    before, begin, rest = DOCS.read_text("utf-8").partition(BEGIN)
    stored, end, after = rest.partition(END)
    assert begin, f"{DOCS} has no {BEGIN}"
    assert end, f"{DOCS} has no {END}"
    if os.environ.get(RENEW):
        DOCS.write_text("".join([before, begin, *table, end, after]), "utf-8")
    else:
        assert stored == "".join(table), f"renew {DOCS.name} by {RENEW}=1"


@pytest.mark.parametrize("words", KINDS)
def test_what_people_have_is_read_right_or_refused(words, tmp_path, rows):
    make, choices, right = KINDS[words]
    path = make(tmp_path)
    rows[words], movies = [], []
    for choice in choices:
        said, movie = found_of(path, choice)
        flags = " ".join(f"--{name} {value}" for name, value in choice.items())
        rows[words].append((flags, in_table(said.replace(f"{tmp_path}/", ""))))
        movies += [movie] if movie is not None else []
    assert len(rows[words]) == len(choices)
    if right is not None:
        # What leaves no choice of channels is what such a kind is measured by.
        chosen = next(movie for movie in movies if movie.n_channels == 1)
        expected = right().reshape(-1, *SHAPE_YX)
        for first in (0, len(expected) - 1):
            found = chosen.read(first, chosen.n_frames, channel=0)
            np.testing.assert_array_equal(found, expected[first:])
