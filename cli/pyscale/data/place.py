"""Where a dataset lies under the data folder, and whether it is there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pyscale.data.contents import read_contents
from pyscale.data.disk import disk_errors_explained
from pyscale.data.registry import Dataset, Registry, RemoteFile

SYNTH_FILE = "synth.json"
SYNTH_MOVIE = "movie.ome.tif"

Presence = Literal["here", "partly", "absent"]


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
    if name_or_path in synthetic_names(data_root):
        return data_root / name_or_path / SYNTH_MOVIE
    path = Path(name_or_path).expanduser()
    return path if path.exists() else None


def presence(name: str, dataset: Dataset, data_root: Path) -> Presence:
    """How much of a dataset is there, by names and sizes."""
    with disk_errors_explained(data_root):
        there = [_is_there(data_root / name, file) for file in dataset.files]
    return "here" if all(there) else "partly" if any(there) else "absent"


def synthetic_names(data_root: Path) -> list[str]:
    """Names of the synthetic movies in a data folder, sorted."""
    with disk_errors_explained(data_root):
        return sorted(path.parent.name for path in data_root.glob(f"[!.]*/{SYNTH_FILE}"))


def _is_there(folder: Path, file: RemoteFile) -> bool:
    local = folder / file.local_name
    if file.unpack is None:
        return _have_sizes([(local, file.size_bytes)])
    contents = read_contents(local)
    if contents is None:
        return False
    return _have_sizes((local / known.path, known.size_bytes) for known in contents.files)


def _have_sizes(expected: Iterable[tuple[Path, int | None]]) -> bool:
    for path, size_bytes in expected:
        if not path.is_file():
            return False
        if size_bytes is not None and path.stat().st_size != size_bytes:
            return False
    return True
