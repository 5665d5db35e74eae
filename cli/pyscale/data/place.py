"""Location and presence of a dataset under the data folder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pyscale.data.registry import (
    FILES,
    READS,
    Dataset,
    MadeKind,
    MadeParams,
    Registry,
    RemoteFile,
    made_by,
)
from pyscale.data.verify import disk_errors_explained, read_contents

Presence = Literal["here", "partly", "changed", "absent"]
"""changed: a file is there in another size, or made by other parameters, than it must have."""


def dataset_path(name_or_path: str, registry: Registry, data_root: Path) -> Path | None:
    """Path of the movie or slides that a name or path stands for; None where it is not there.

    A name of the registry comes first, then one of synthetic data, then a path of the user's
    own; a file that is named like a dataset is meant by `./NAME`. Looks at names and sizes only:
    reading the files would warm the page cache that a run is about to measure.
    """
    dataset = registry.datasets.get(name_or_path)
    if dataset is not None:
        whole = presence(name_or_path, dataset, data_root) == "here"
        return data_root / name_or_path / dataset.movie if whole else None
    kind = synthetic_kinds(registry, data_root).get(name_or_path)
    if kind is not None:
        return data_root / name_or_path / READS[kind]
    path = Path(name_or_path).expanduser()
    return path if path.exists() else None


def presence(name: str, dataset: Dataset, data_root: Path) -> Presence:
    """How much of a dataset is there, by names and sizes."""
    folder = data_root / name
    with disk_errors_explained(data_root):
        found = [state for file in dataset.files for state in _file_presences(folder, file)]
        if dataset.made is not None:
            found = _made_presences(folder, dataset.made)
    if "changed" in found:
        return "changed"
    if "absent" not in found:
        return "here"
    return "partly" if "here" in found else "absent"


def synthetic_names(registry: Registry, data_root: Path) -> list[str]:
    """Names of the user's own synthetic movies and slides in a data folder, sorted."""
    return list(synthetic_kinds(registry, data_root))


def synthetic_kinds(registry: Registry, data_root: Path) -> dict[str, MadeKind]:
    """Kind of each of the user's own synthetic data in a data folder, by its name, sorted."""
    with disk_errors_explained(data_root):
        found = {
            path.parent.name: kind
            for kind, params_file in FILES.items()
            for path in data_root.glob(f"[!.]*/{params_file}")
        }
    return {name: found[name] for name in sorted(found.keys() - registry.datasets.keys())}


def _made_presences(folder: Path, params: MadeParams) -> list[Presence]:
    """Of what is made here: of each of its files, as they were recorded then."""
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
