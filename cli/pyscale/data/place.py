"""Location and presence of a dataset under the data folder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pyscale.data.registry import FILES, READS, Dataset, MadeKind, Registry, made_by
from pyscale.data.verify import Trust, data_errors_explained, states_of

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
    with data_errors_explained(data_root):
        if dataset.made is not None and folder.exists() and made_by(folder) != dataset.made:
            return "changed"
        found = {one.state for one in states_of(folder, dataset, Trust(), None)}
    if "changed" in found:
        return "changed"
    if found == {"ok"}:
        return "here"
    # One that was made, and whose maker was stopped before its checksums were known, is unverified.
    return "absent" if found == {"missing"} else "partly"


def synthetic_kinds(registry: Registry, data_root: Path) -> dict[str, MadeKind]:
    """Kind of each of the user's own synthetic data in a data folder, by its name, sorted."""
    with data_errors_explained(data_root):
        found = {
            path.parent.name: kind
            for kind, params_file in FILES.items()
            for path in data_root.glob(f"[!.]*/{params_file}")
        }
    return {name: found[name] for name in sorted(found.keys() - registry.datasets.keys())}
