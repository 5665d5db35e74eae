"""Windows that are written as OME-Zarr are one movie once their chunks have a second name."""

import numpy as np
import pytest
import zarr

from moviefiles import noise
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.moviewriter import link_chunks, open_written, write_chunks
from refusals import refused
from stagetasks import Bench


@pytest.mark.parametrize("channels", [(), (2,)], ids=["TYX", "TCYX"])
def test_windows_are_the_whole_without_a_pixel_read(tmp_path, channels):
    frames = noise(5, *channels)
    frames[3] = 0
    write_chunks(tmp_path / "at_once.zarr", frames.reshape(-1, 64, 64), frames.shape, np.uint16)
    parts = []
    for start, stop in ((0, 2), (2, 5)):
        parts.append(tmp_path / f"w{start}.zarr")
        images = frames[start:stop].reshape(-1, 64, 64)
        write_chunks(parts[-1], images, frames.shape, np.uint16, start)
        window = open_written(parts[-1], (start, stop))
        assert window.n_frames == stop - start
        np.testing.assert_array_equal(
            window.read(0, stop - start).reshape(-1, 64, 64), images.reshape(-1, 64, 64)
        )
    (tmp_path / "whole.zarr").mkdir()
    link_chunks(tmp_path / "whole.zarr", parts)
    written, linked = (
        {
            file.relative_to(folder): file.read_bytes()
            for file in folder.rglob("*")
            if file.is_file()
        }
        for folder in (tmp_path / "at_once.zarr", tmp_path / "whole.zarr")
    )
    assert linked == written
    whole = Movie.open(tmp_path / "whole.zarr")
    assert (whole.n_frames, whole.n_channels) == (5, *(channels or (1,)))
    np.testing.assert_array_equal(whole.read(0, 5).reshape(frames.shape), frames)
    chunk = "/".join(["0/c/4", *("0" for _ in channels), "0/0"])
    assert (tmp_path / "whole.zarr" / chunk).samefile(parts[1] / chunk)


def test_it_is_ome_zarr_as_others_read_it(tmp_path):
    write_chunks(tmp_path / "m.ome.zarr", noise(3), (3, 64, 64), np.uint16)
    group = zarr.open_group(str(tmp_path / "m.ome.zarr"), mode="r")
    (described,) = group.attrs["ome"]["multiscales"]
    assert [axis["name"] for axis in described["axes"]] == ["t", "y", "x"]
    assert group[described["datasets"][0]["path"]].metadata.dimension_names == ("t", "y", "x")
    np.testing.assert_array_equal(group["0"][:], noise(3))


def test_chunks_that_two_windows_wrote_and_other_movies_are_refused(tmp_path):
    for name, shape, start in (("a", (4, 64, 64), 0), ("b", (4, 64, 64), 1), ("c", (5, 64, 64), 2)):
        write_chunks(tmp_path / name, noise(2), shape, np.uint16, start)
    for number, other in enumerate("bc"):
        (tmp_path / str(number)).mkdir()
        with refused(BadInput):
            link_chunks(tmp_path / str(number), [tmp_path / "a", tmp_path / other])


def test_frames_and_labels_are_the_same_in_either_format_and_at_every_number_of_windows(
    tmp_path, movie_of
):
    movie = movie_of(noise(4, 2), axes="TCYX")
    found = {}
    for output_format, name in (("ome-tiff", "frames.ome.tif"), ("ome-zarr", "frames.ome.zarr")):
        bench = Bench(
            "register_denoise",
            tmp_path / output_format,
            registration=False,
            output_format=output_format,
        )
        bench.folder.mkdir()
        windows = bench.windows(movie, (0, 1), (1, 4))
        merged = bench.done("merge", *windows, output="merged")
        whole = bench.done("run", movie, output="whole")
        agreement = bench.run("check", whole, merged).agreement
        assert (agreement.same, agreement.identical) == (True, True)
        found[output_format] = Movie.open(merged / name).read(0, 4)
    np.testing.assert_array_equal(*found.values())
