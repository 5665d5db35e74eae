"""The dataset that a run measures on, from the name or path in its settings."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from pyscale.console import talk
from pyscale.data.registry import SYNTH_FILE, SYNTH_MOVIE, Kind, load_registry, made_kind
from pyscale.data.registry import Dataset as Entry
from pyscale.data.verify import dataset_path, name_and_file, synthetic_kinds
from pyscale.errors import UserError, problems_told
from pyscale.planning.planentry import Dataset
from pyscale.planning.suite import OWN_STEP, Suite
from pyscale.planning.traits import OF_FILES
from pyscale.resources import shipped
from pyscale.settings import Settings
from pyscale_stages.command.joining import files_of, tiles_of
from pyscale_stages.command.params import TILE_PX
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie, refuse_cut_files
from pyscale_stages.reading import Reading
from pyscale_stages.slides.reading import slide_files
from pyscale_stages.truth.reading import kind_of, refuse_unfit

KIND_IN_WORDS: dict[Kind | Literal["files", "tiles", "place", "phantom"], str] = {
    "files": "a folder of files",
    "tiles": "an image",
    "movie": "a movie",
    "labels": "labels of a movie",
    "images": "single images",
    "slide": "a slide",
    "slides": "slides",
    "weights": "weights of a network",
    "place": "a folder to write to, not a dataset",
    "phantom": "images that the stage makes itself",
}


def find_movie(settings: Settings, suite: Suite, *, accept_terms: bool = False) -> Dataset:
    """Find the movie or slides of a run, fetch or make them where absent, and read their layout.

    A synthetic movie, in the data folder or anywhere else, brings its truth. What a dataset of
    the registry holds is known before it is fetched; of a path only its pixels tell. A suite of
    slides takes any path at which patches may be read: slides, a list of them, a stack, or an
    OME-Zarr image; `frames` is how many there are.
    """
    path = _brought(settings, suite, accept_terms=accept_terms)
    if suite.data in {"slides", "files"}:
        with _bad_input_is_the_users():
            if suite.data == "files":
                return Dataset(movie=path, frames=len(files_of(path)))
            path = as_one_folder(path, settings.data_folder)
            return Dataset(movie=path, frames=len(slide_files(path)))
    if suite.shares_no_frames:
        # Nobody cuts it, so it may be of any format that the user's program reads.
        with suppress(UserError):
            return _movie(path, settings, None)
        return Dataset(movie=path, frames=1)
    movie = _movie(path, settings, suite)
    return _tiled(movie, settings, suite) if suite.data == "tiles" else movie


def find_own_data(
    settings: Settings, names: Iterable[str], *, accept_terms: bool = False
) -> dict[str, Dataset]:
    """Find datasets that entries of a suite name for themselves, as `find_movie` finds its one.

    They are movies, labels or images, whatever the suite measures on; axes are their own.
    """
    found = {}
    for name in names:
        own = settings.model_copy(update={"data": name, "truth": None, **dict.fromkeys(OF_FILES)})
        path = _brought(own, None, accept_terms=accept_terms)
        found[name] = _movie(path, own, None)
    return found


def _brought(settings: Settings, suite: Suite | None, *, accept_terms: bool) -> Path:
    """Path of the data that settings name, fetched or made where absent."""
    registry = load_registry(shipped("config"))
    entry = registry.datasets.get(settings.data)
    own = synthetic_kinds(registry, settings.data_folder)
    kind = entry.kind if entry is not None else own.get(settings.data)
    name, _ = name_and_file(settings.data, registry)
    # Of a path, or of one file of a dataset, only its pixels tell.
    if kind is not None:
        _refuse_other_kind(settings.data, kind, suite)
    path = dataset_path(settings.data, registry, settings.data_folder)
    if path is None:
        # What downloads takes a while to import, and most runs have their data.
        from pyscale.data.fetch import Fetcher

        fetcher = Fetcher(registry, settings.data_folder, settings.mirror, accept_terms)
        path = fetcher.ensure(name)
        if name != settings.data:
            path = dataset_path(settings.data, registry, settings.data_folder) or path
    return path.resolve()


@contextmanager
def _bad_input_is_the_users() -> Iterator[None]:
    try:
        yield
    except BadInput as error:
        raise UserError(str(error)) from error


def _tiled(image: Dataset, settings: Settings, suite: Suite) -> Dataset:
    """Count the tiles of an image, which all steps of a suite share in the same way."""
    given = [
        step.params | settings.stages.get(OWN_STEP, {}) | settings.stages.get(entry, {})
        for entry, step in suite.stages.items()
    ]
    sizes = {params.get("tile_px", TILE_PX) for params in given if params.get("split") == "tiles"}
    if not sizes:
        raise UserError(
            f'the suite {suite.name} has data = "tiles", but no step that shares them: add '
            'split = "tiles" to its steps, or leave data out'
        )
    (tile_px, *others) = sizes
    if others or not isinstance(tile_px, int) or tile_px < 1:
        raise UserError(
            f"tile_px of the suite {suite.name} is {' and '.join(sorted(map(str, sizes)))}: give "
            "all its steps the same, a whole number"
        )
    assert image.shape_yx is not None
    tiles = tiles_of(image.shape_yx, tile_px)
    return replace(image, frames=len(tiles), truth=None, own_truth=None)


def _movie(path: Path, settings: Settings, suite: Suite | None) -> Dataset:
    entry = load_registry(shipped("config")).datasets.get(settings.data)
    made = made_kind(path)
    if made == "slides":
        _refuse_other_kind(settings.data, made, suite)
    if made == "movie":
        path /= SYNTH_MOVIE
    truth = path.parent / "truth" if (path.parent / SYNTH_FILE).is_file() else None
    if truth is not None:
        _refuse_other_kind(settings.data, "movie", suite)
    reading = reading_from(settings.model_dump(), entry)
    with _bad_input_is_the_users():
        movie = Movie.open(path, reading=reading)
        refuse_cut_files(movie)
    if truth is not None and not _fits(movie.reading):
        talk(f"the truth beside {path.name} is not used: it is of all frames and channels")
        truth = None
    if suite is not None and suite.data == "labels" and movie.dtype.kind not in "iu":
        raise UserError(
            f"{path} holds {movie.dtype} values, but the suite {suite.name} needs labels (whole "
            "numbers): name a label movie by --data"
        )
    own_truth = _own_truth(settings, entry)
    if own_truth is not None:
        if (own_truth / "camera").is_dir() and (own_truth / "specimen").is_dir():
            truth, own_truth = own_truth, None
        else:
            truth = None
            with _bad_input_is_the_users():
                if kind_of(own_truth) == "synthetic":
                    raise BadInput(
                        f"--truth {own_truth} is only one part of a synthetic movie's truth: name "
                        "the folder that holds camera and specimen"
                    )
                if movie.reading.frames is not None and movie.reading.frames[0] > 0:
                    raise BadInput(
                        f"--frames {movie.reading.given['frames']} leaves out the first frames of "
                        f"the truth {own_truth}: begin with 0, or leave one of them out"
                    )
                refuse_unfit(own_truth, movie.n_frames)
    return Dataset(
        movie=path,
        frames=movie.n_frames,
        reading=movie.reading,
        inventory=movie.inventory,
        truth=truth,
        own_truth=own_truth,
        shape_yx=movie.shape_yx,
    )


def reading_from(settings: Mapping[str, Any], entry: Entry | None) -> Reading:
    """What settings choose of the files of a movie, which its entry of the registry may say."""
    given = {name: settings[name] for name in OF_FILES if settings.get(name) is not None}
    if entry is not None:
        given.setdefault("axes", entry.axes)
    with problems_told(Reading, "the choice of what is read is wrong: "):
        return Reading.model_validate(given)


def _fits(reading: Reading) -> bool:
    """Whether the truth of a synthetic movie, in frames from the first, is that of what is read."""
    starts_later = reading.frames is not None and reading.frames[0] > 0
    return not starts_later and reading.channel in {None, 0}


def _own_truth(settings: Settings, entry: Entry | None) -> Path | None:
    """Truth that the user names, or else that a dataset of the registry brings."""
    if settings.truth is not None:
        return settings.truth.resolve()
    if entry is None or entry.truth is None:
        return None
    return (settings.data_folder / settings.data / entry.truth).resolve()


def _refuse_other_kind(name: str, kind: Kind, suite: Suite | None) -> None:
    """Raise where a suite, or an entry with data of its own (None), cannot measure on a kind."""
    if suite is None:
        if kind in {"slide", "slides", "weights"}:
            raise UserError(
                f"the suite gives an entry the dataset {name}, which holds "
                f"{KIND_IN_WORDS[kind]}: name a movie, labels or images"
            )
        return
    # One slide is as good as a folder of one.
    if kind == suite.data or (kind == "slide" and suite.data == "slides"):
        return
    # What a program of the user's own can read, they know.
    if {*map(suite.stage_name, suite.stages)} == {OWN_STEP}:
        return
    by_path = (
        ", name a stack of images or an OME-Zarr by its path," if suite.data == "slides" else ""
    )
    raise UserError(
        f"{name} holds {KIND_IN_WORDS[kind]}, but the suite {suite.name} needs "
        f"{KIND_IN_WORDS[suite.data]}: name another dataset by --data (`pyscale data list` shows "
        f"their kinds){by_path or ','} or run another suite"
    )


OF_SEVERAL_FILES = {".vms", ".vmu"}
"""Slides that name the files beside them, which a link has not."""


def as_one_folder(path: Path, data_folder: Path) -> Path:
    """The path, where all its slides lie right there, or the folder of links to them."""
    found = slide_files(path)
    flat = found == [path] or {slide.parent for slide in found} == {path}
    return path if flat else linked(found, path.stem, data_folder)


def slides_of(paths: Iterable[str | Path]) -> list[Path]:
    """The slides at paths, each once."""
    try:
        found = (slide for path in paths for slide in slide_files(Path(path).expanduser()))
        return list(dict.fromkeys(slide.absolute() for slide in found))
    except BadInput as error:
        raise UserError(str(error)) from error


def linked(slides: Sequence[Path], name: str, data_folder: Path) -> Path:
    """A folder with a link to each slide, in their order; the same slides have the same one."""
    digest = sha256("\n".join(map(str, slides)).encode(errors="surrogateescape")).hexdigest()[:16]
    folder = data_folder.absolute() / "linked-slides" / digest / name
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent))
    digits = len(str(len(slides) - 1))
    for number, slide in enumerate(slides):
        if slide.suffix.lower() in OF_SEVERAL_FILES:
            shutil.rmtree(made)
            raise UserError(
                f"{slide} has its pixels in files beside it, so it cannot stand in a list or among "
                "other folders: name its folder by --data"
            )
        true, link = slide.resolve(), made / f"{number:0{digits}d}-{slide.name}"
        link.symlink_to(true)
        if true.suffix.lower() == ".mrxs":
            link.with_suffix("").symlink_to(true.with_suffix(""))
    made.chmod(0o755)
    try:
        made.rename(folder)
    except OSError:
        shutil.rmtree(made)
        # Another pyscale may have made it meanwhile.
        if not folder.is_dir():
            raise
    return folder
