"""Prints what each image is made from beside the stages' code, by hashes.

`make test-images` keeps it, and CI tests the images again where it has changed.
"""

from __future__ import annotations

from pyscale.images.catalog import (
    base_sha256,
    catalog,
    definition_file,
    file_sha256,
    libraries_sha256,
)


def main() -> None:
    """Print a line for each image that is built without being named."""
    print("stage", file_sha256(definition_file("stage")))
    for name, definition in sorted(catalog().items()):
        if not definition.by_name_alone:
            libraries = libraries_sha256(definition, base_sha256())
            print(name, libraries, repr(definition.image.after_code))


if __name__ == "__main__":
    main()
