"""Slides of a list, or of folders in a folder, as one folder of links, as a run reads them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from pyscale.errors import UserError
from pyscale_stages.errors import BadInput
from pyscale_stages.slides.reading import slide_files

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
