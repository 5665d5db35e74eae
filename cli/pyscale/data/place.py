"""Where a dataset lies under the data folder, and whether it is there."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from pyscale.data.contents import read_contents
from pyscale.data.disk import disk_errors_explained
from pyscale.data.registry import Dataset, Registry, RemoteFile
from pyscale_stages.synth.params import SynthParams

SYNTH_FILE = "synth.json"
SYNTH_MOVIE = "movie.ome.tif"

Presence = Literal["here", "partly", "changed", "absent"]
"""changed: a file is there in another size, or a movie by other parameters, than it must have."""


def dataset_path(name_or_path: str, registry: Registry, data_root: Path) -> Path | None:
    """Path of the movie that a name or path stands for; None where it is not there.

    A name of the registry comes first, then a synthetic movie, then a path of the user's own;
    a file that is named like a dataset is meant by `./NAME`. Looks at names and sizes only:
    reading the files would warm the page cache that a run is about to measure.

    Parameters
    ----------
    name_or_path : str
        Name of a dataset, or any existing file or folder.
    registry : Registry
    data_root : Path
        Folder that holds the datasets.
    """
    dataset = registry.datasets.get(name_or_path)
    if dataset is not None:
        whole = presence(name_or_path, dataset, data_root) == "here"
        return data_root / name_or_path / dataset.movie if whole else None
    if name_or_path in synthetic_names(registry, data_root):
        return data_root / name_or_path / SYNTH_MOVIE
    path = Path(name_or_path).expanduser()
    return path if path.exists() else None


def presence(name: str, dataset: Dataset, data_root: Path) -> Presence:
    """How much of a dataset is there, by names and sizes."""
    folder = data_root / name
    with disk_errors_explained(data_root):
        found = [state for file in dataset.files for state in _file_presences(folder, file)]
        if dataset.synth is not None:
            found = _made_presences(folder, dataset.synth)
    if "changed" in found:
        return "changed"
    if "absent" not in found:
        return "here"
    return "partly" if "here" in found else "absent"


def synthetic_names(registry: Registry, data_root: Path) -> list[str]:
    """Names of the user's own synthetic movies in a data folder, sorted."""
    with disk_errors_explained(data_root):
        names = {path.parent.name for path in data_root.glob(f"[!.]*/{SYNTH_FILE}")}
    return sorted(names - registry.datasets.keys())


def made_by(folder: Path) -> SynthParams | None:
    """What the synthetic movie in a folder was made by; None where there is none that is known."""
    try:
        return SynthParams.model_validate_json((folder / SYNTH_FILE).read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValidationError):
        return None


def _made_presences(folder: Path, params: SynthParams) -> list[Presence]:
    """Of a movie that is made: of each of its files, as they were recorded then."""
    if not folder.exists():
        return ["absent"]
    if made_by(folder) != params:
        return ["changed"]
    contents = read_contents(folder)
    # It was made, and whoever made it was stopped before its checksums were known.
    if contents is None:
        return ["here", "absent"]
    return [_file_presence(folder / known.path, known.size_bytes) for known in contents.files]


def _file_presences(folder: Path, file: RemoteFile) -> list[Presence]:
    """Of one download: of the file, or of each file unpacked from it."""
    local = folder / file.local_name
    if file.unpack is None:
        return [_file_presence(local, file.size_bytes)]
    contents = read_contents(local)
    if contents is None:
        return ["absent"]
    return [_file_presence(local / known.path, known.size_bytes) for known in contents.files]


def _file_presence(path: Path, size_bytes: int | None) -> Presence:
    if not path.is_file():
        return "absent"
    if size_bytes is not None and path.stat().st_size != size_bytes:
        return "changed"
    return "here"
