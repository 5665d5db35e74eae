"""Write a synthetic movie with its exact truth; the public face of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyscale_stages.synth.drift import drift_path
from pyscale_stages.synth.params import SynthParams
from pyscale_stages.synth.render import Coordinates, render_examples, render_frames
from pyscale_stages.synth.spool import FrameSpool
from pyscale_stages.synth.truth import TruthTables, write_tables
from pyscale_stages.synth.wholefolder import Kind, make_whole

__all__ = ["SynthParams", "render_examples", "write_synthetic_movie"]

MOVIE_FILE = "movie.ome.tif"
PARAMS_FILE = "synth.json"
KIND = Kind("a synthetic movie", "is not a synthetic movie", PARAMS_FILE)
TRUTH_FOLDER = "truth"
COORDINATES: tuple[Coordinates, ...] = ("camera", "specimen")

Progress = Callable[[int, int], None]


def write_synthetic_movie(
    folder: Path, params: SynthParams, progress: Progress | None = None
) -> Path:
    """Write a movie and its exact truth; the folder appears whole or not at all.

    While it is made, about the uncompressed size of the movie and its truth lies beside it. A
    folder that already holds the movie of these parameters is kept, and any other is refused. The
    same parameters give the same bytes, with the same versions of the libraries on the same kind of
    processor.

    `progress`: told the frames done, and those in all.
    """
    return make_whole(folder, params, KIND, lambda partial: _write_into(partial, params, progress))


def _write_into(folder: Path, params: SynthParams, progress: Progress | None) -> None:
    tables = {name: TruthTables() for name in COORDINATES}
    with FrameSpool(folder) as spool:
        for index, frame in enumerate(render_frames(params, COORDINATES)):
            image = frame.image if params.cell_types > 1 else frame.image[0]
            spool.append(MOVIE_FILE, image)
            for name in COORDINATES:
                for channel, labels in enumerate(frame.labels[name]):
                    spool.append(f"{TRUTH_FOLDER}/{name}/labels_ch{channel}.ome.tif", labels)
                tables[name].add(index, frame.cells, frame.labels[name])
            for channel, clean in enumerate(frame.clean):
                spool.append(f"{TRUTH_FOLDER}/camera/clean_ch{channel}.ome.tif", clean)
            tables["camera"].add_noise(index, frame.image, frame.clean)
            if progress is not None:
                progress(index + 1, params.frames)
    drift = drift_path(params)
    for name in COORDINATES:
        write_tables(folder / TRUTH_FOLDER / name, tables[name], drift)
