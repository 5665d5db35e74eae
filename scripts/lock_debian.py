"""Writes the locks of Debian packages from the images that were built on this machine.

Run as `make debian-locks`, after `make images`.
"""

from __future__ import annotations

from pyscale.errors import UserError
from pyscale.images.catalog import catalog
from pyscale.images.lockfile import ImageFolder
from pyscale.images.partlocks import BASE, debian_lock_file, debian_text, read_debian
from pyscale.settings import load_settings
from pyscale_stages.atomic import write_atomically


def main() -> None:
    """Lock the base, and what each image adds to it."""
    folder = ImageFolder(load_settings().images_folder)
    built = {name: read_debian(folder.debian_list(name)) for name in catalog()}
    bases = [built[name] for name, image in catalog().items() if built[name] and not image.debian]
    if not bases:
        raise UserError(f"{folder.path} has no image that was built here: run `make images`")
    write_atomically(debian_lock_file(BASE), debian_text(bases[0]))
    for name, image in catalog().items():
        if image.debian and built[name]:
            added = {p: version for p, version in built[name].items() if p not in bases[0]}
            write_atomically(debian_lock_file(name), debian_text(added))


if __name__ == "__main__":
    main()
