"""The stage code of an image: the core, the one stage, what it shares, its embedded models."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyscale_stages
from pyscale_stages.resources import MODEL_FOLDERS

CORE_FOLDERS = ("measure",)
"""Folders of `pyscale_stages` that every stage needs; `synth` makes movies, outside of images."""

SHARED_FOLDERS = {
    "segment": ("truth",),
    "contact": ("truth",),
    "track": ("truth",),
    "storage": ("machine", "movieformats"),
    "decompress": ("machine", "movieformats"),
    "kernels": ("machine",),
    "loader": ("ranks", "slides"),
    "reconstruct": ("ranks",),
}
"""Folders that some stages share, by the stages that need them."""

STAGES_WITH_MODELS = ("segment",)

FILE_TIME_S = 1_600_000_000
"""Time that files of a build get, in seconds since 1970: any instant before Debian's release."""

_PACKAGE = Path(pyscale_stages.__file__).resolve().parent
_LEFT_BEHIND = {"__pycache__"}


def code_files(stage: str, package: Path = _PACKAGE) -> dict[str, Path]:
    """Files of one stage's image by their path inside it, in the order of the paths.

    `stage`: name of the stage, which is its folder's.
    """
    found = {path.name: path for path in package.iterdir() if path.is_file()}
    for folder in (*CORE_FOLDERS, *SHARED_FOLDERS.get(stage, ()), stage):
        for path in _files_below(package / folder):
            found[path.relative_to(package).as_posix()] = path
    if stage in STAGES_WITH_MODELS:
        for models in MODEL_FOLDERS:
            for path in _files_below(models) if models.is_dir() else ():
                found[f"resources/models/{path.relative_to(models).as_posix()}"] = path
    return {f"pyscale_stages/{name}": found[name] for name in sorted(found)}


def lay_out(files: Mapping[str, Path], folder: Path) -> None:
    """Copy files into a new folder, with the same modes and times on every machine."""
    folder.mkdir()
    for name, source in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
        target.chmod(0o644)
    # Folders last: a file that is written into one changes its time.
    for path in sorted((folder, *folder.rglob("*")), reverse=True):
        if path.is_dir():
            path.chmod(0o755)
        os.utime(path, (FILE_TIME_S, FILE_TIME_S))


def _files_below(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir():
            if path.name not in _LEFT_BEHIND:
                yield from _files_below(path)
        elif path.is_file():
            yield path
