import numpy as np
import polars as pl
import pytest
import tifffile

from pyscale_stages.windows import read_window

CROPS = """\
import sys, tifffile
source, out, *ends = sys.argv[1:]
y0, y1, x0, x1 = map(int, ends[:4]) if ends else (None,) * 4
region = tifffile.imread(source)[..., y0:y1, x0:x1]
if region.shape[1] == region.shape[2] < 23:
    region = region.astype("uint8")
tifffile.imwrite(out, region, photometric="minisblack")
"""
REGION = "{input} {output} {y0} {y1} {x0} {x1}"
TILED = {"split": "tiles", "tile_px": 30, "margin_px": 4, "movie_frames": 4}
WINDOWS = ((0, 1), (1, 2), (2, 4))


@pytest.mark.parametrize(
    ("words", "window", "tile_px", "windows"),
    [
        # Of 3 x 3 tiles the middle one has margins on all sides.
        (REGION, "whole", 20, ((0, 4), (4, 5), (5, 9))),
        ("{input} {output}", "file", 30, WINDOWS),
    ],
    ids=["named", "cut"],
)
def test_tiles_become_the_image_again_without_their_margins(
    step, movie, tmp_path, words, window, tile_px, windows
):
    tiled = TILED | {"window": window, "tile_px": tile_px, "movie_frames": windows[-1][1]}
    step.merged(tmp_path, windows, CROPS, words, **tiled)
    assert read_window(tmp_path / "w1").frames == windows[1]
    joined = tifffile.imread(tmp_path / "merged" / "output.tif")
    assert np.array_equal(joined, tifffile.imread(movie))
    assert joined.dtype == np.uint16


def test_rows_and_files_of_tiles_are_joined_in_their_order(step, tmp_path):
    rows = "import sys; open(sys.argv[2], 'w').write(f'tile,y0\\n{sys.argv[3]},{sys.argv[4]}\\n')"
    words = "{input} {output} {tile} {y0} {y1} {x0} {x1}"
    step.merged(tmp_path, WINDOWS, rows, words, output="cells.csv", **TILED)
    table = pl.read_csv(tmp_path / "merged" / "cells.csv")
    assert table["tile"].to_list() == [*range(4)]
    assert table["y0"].to_list() == [0, 0, 26, 26]
    files = "import sys; open(f'{sys.argv[2]}/{sys.argv[3]}.txt', 'w').write(sys.argv[4])"
    of_files = tmp_path / "files"
    step.merged(of_files, WINDOWS, files, words, output="found", **TILED)
    assert len([*(of_files / "merged" / "found").iterdir()]) == 4


def test_a_tile_of_another_size_or_none_is_named(step, tmp_path):
    small = CROPS.replace("x0:x1]", "x0:x1][..., 1:]")
    said = step.merged(tmp_path, WINDOWS, small, REGION, done=False, **TILED)
    assert "000000.tif cannot be part of one image" in said
    lazy = "import sys\nif sys.argv[3] != '3':\n    open(sys.argv[2], 'w').write('a')"
    words = "{input} {output} {tile} {y0} {y1} {x0} {x1}"
    keys = TILED | {"output": "a.txt", "merge": "folder"}
    step.refused(lazy, words, into=tmp_path / "lazy", **keys)
