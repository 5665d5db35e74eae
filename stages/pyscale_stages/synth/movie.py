"""Write a synthetic movie with its exact truth; the public face of this folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from pydantic import ValidationError

from pyscale_stages.atomic import write_atomically
from pyscale_stages.errors import BadInput, as_stage_error
from pyscale_stages.synth.drift import drift_path
from pyscale_stages.synth.params import SynthParams
from pyscale_stages.synth.render import Coordinates, render_examples, render_frames
from pyscale_stages.synth.spool import FrameSpool
from pyscale_stages.synth.truth import TruthTables, write_tables

__all__ = ["SynthParams", "render_examples", "write_synthetic_movie"]

MOVIE_FILE = "movie.ome.tif"
PARAMS_FILE = "synth.json"
TRUTH_FOLDER = "truth"
COORDINATES: tuple[Coordinates, ...] = ("camera", "specimen")

Progress = Callable[[int, int], None]


def write_synthetic_movie(
    folder: Path, params: SynthParams, progress: Progress | None = None
) -> Path:
    """Write a movie and its exact truth; the folder appears whole or not at all.

    While it is made, about the uncompressed size of the movie and its labels lies beside it.

    Parameters
    ----------
    folder : Path
        The folder to make. If it already holds the movie of these parameters, it is kept.
    params : SynthParams
        The same parameters give the same bytes in every file, with the same versions of the
        libraries on the same kind of processor.
    progress : callable, optional
        Called with the frames done and the frames in all.

    Returns
    -------
    Path
        `folder`.

    Raises
    ------
    BadInput
        If `folder` holds anything else or cannot be made, or the movie needs more track ids
        than labels have.
    ResourceExhausted
        If the disk is full.
    """
    if _is_there(folder, params):
        return folder
    # Random, because a process id says nothing on a filesystem that several nodes share.
    partial = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}.partial")
    try:
        partial.mkdir(parents=True)
        _write_into(partial, params, progress)
        try:
            partial.rename(folder)
        except OSError:
            # Another process may have made the same movie meanwhile.
            if not _is_there(folder, params):
                raise
    except OSError as error:
        raise as_stage_error(error) or BadInput(
            f"{folder} cannot be written ({error.strerror}): choose another place"
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _is_there(folder: Path, params: SynthParams) -> bool:
    """Whether the folder holds this very movie; False if there is nothing.

    Raises
    ------
    BadInput
        If there is something else.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    try:
        found = SynthParams.model_validate_json((folder / PARAMS_FILE).read_bytes())
    except (OSError, ValidationError) as error:
        raise BadInput(
            f"{folder} exists and is not a synthetic movie of this version: "
            "choose another name, or remove it"
        ) from error
    if found != params:
        fields = SynthParams.model_fields
        other = [name for name in fields if getattr(found, name) != getattr(params, name)]
        raise BadInput(
            f"{folder} holds a synthetic movie made with other parameters ({', '.join(other)}): "
            "choose another name, or remove it"
        )
    return True


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
            if progress is not None:
                progress(index + 1, params.frames)
    drift = drift_path(params)
    for name in COORDINATES:
        write_tables(folder / TRUTH_FOLDER / name, tables[name], drift)
    write_atomically(folder / PARAMS_FILE, params.model_dump_json(indent=2) + "\n")
