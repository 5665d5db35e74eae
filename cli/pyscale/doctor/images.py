"""Checks of a suite's images: presence and lock."""

from __future__ import annotations

from collections.abc import Iterator

from pyscale.doctor.findings import Finding, beside_the_point, ok, problem, warning
from pyscale.doctor.subject import Subject
from pyscale.errors import UserError
from pyscale.images.listing import ListedImage, listed_images
from pyscale.images.lockfile import ImageFolder


def images(subject: Subject) -> Iterator[Finding]:
    """Compare what lies in the folder of images with its lock, by headers and sizes.

    What all the bytes are is read once by every run, and by `pyscale image verify`.
    """
    try:
        listed = {row.name: row for row in listed_images(ImageFolder(subject.images_folder))}
    except UserError as error:
        sentence, _, remedy = str(error).rpartition(": ")
        yield problem("image.lock", sentence, remedy)
        return
    for name in subject.image_names():
        found = of_image(listed[name], unlocked=subject.unlocked_images)
        if subject.runtime == "native" and found.status != "ok":
            found = beside_the_point(found.check, found.sentence, found.remedy)
        yield found


def of_image(row: ListedImage, *, unlocked: bool) -> Finding:
    """Say how one image stands; `unlocked` is whether it may differ from its lock."""
    check = f"image.{row.name}"
    again = f"pyscale image build {row.name}, or pyscale image pull"
    if row.state == "absent":
        return problem(check, f"the image {row.name} is not at {row.path}", again)
    differing = {
        "unlocked": f"{row.path} exists, but no lock records its checksum",
        "changed on disk": f"{row.path} is not the file that its lock names",
    }
    if row.state in differing:
        return (warning if unlocked else problem)(check, differing[row.state], again)
    size_mb = (row.size_bytes or 0) / 1e6
    sha256 = (row.sha256 or "")[:12]
    said = f"{row.path.name} exists and is locked ({size_mb:.0f} MB, sha256 {sha256}…)"
    if row.state == "out of date":
        return warning(
            check,
            f"{said}, but older than this pyscale: {row.because} has changed since",
            f"pyscale image build {row.name}",
            value=row.sha256 or "",
        )
    return ok(check, said, value=row.sha256 or "")
