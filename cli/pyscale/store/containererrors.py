"""Errors of a container program that cannot start a container, as sentences that help."""

from __future__ import annotations

import os
import re

from pyscale_stages.errors import MissingPart, ResourceExhausted, StageError

EXIT_CONTAINER = 255
"""Exit code of a container program that did not come as far as the task; no stage has it."""
SLOW_START = (
    "the container program could not mount the image and unpacked it instead, which takes long, "
    "counts as container_start and fills the disk of TMPDIR: install squashfuse, and let users "
    "read and write /dev/fuse"
)

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_UNPACKING = "Converting SIF file to temporary sandbox"
_OWN_LINE = re.compile(r"^(?:FATAL|ERROR) *: *(.+)$", re.MULTILINE)
_PARTS = (
    (
        r"Failed to create user namespace|user namespaces? (?:is|are) (?:not|disabled)",
        "this user cannot create user namespaces, which containers need: ask an administrator to "
        "raise user.max_user_namespaces or to install the container program with its setuid part "
        "(package apptainer-suid), or use --runtime native",
    ),
    (
        r"fuse: (?:mount failed|device not found|failed to open|.*permission denied)",
        "the image cannot be mounted, because FUSE does not work here: ask an administrator to "
        "load the module fuse and to let users read and write /dev/fuse, or use --runtime native",
    ),
    (
        r"architecture \((?P<image>[^)]+)\) could not run on the host's \((?P<host>[^)]+)\)",
        "the image is for {image}, but this machine is {host}: build or pull an image for {host}",
    ),
    (
        r"mount source (?P<path>.+?) doesn't exist",
        "{path} does not exist on the node of the task: mount its filesystem there, or use paths "
        "that every node has",
    ),
    (
        r"while mounting (?P<path>.+?): destination .+ doesn't exist in container",
        "{path} cannot be mounted in an image, which has its own /dev: name another folder, or "
        "use --runtime native",
    ),
    (
        r"(?:lstat|could not open image) (?P<path>[^:]+): .*no such file",
        "the image {path} does not exist on the node of the task: put images_folder where every "
        "node sees it, or build or pull the image again",
    ),
    (
        r"corrupted image|image format not recognized|trying to read the squashfs image|"
        r"[Cc]an't find a valid SQUASHFS|invalid (?:squashfs|SIF)|while loading SIF",
        "the image is damaged: see `pyscale image verify`, and build or pull it again",
    ),
)
"""What is missing on the machine or in the image: what is said of it, and what to do."""
_KNOWN: tuple[tuple[str, type[StageError], str], ...] = (
    *((pattern, MissingPart, sentence) for pattern, sentence in _PARTS),
    (
        # 28 is ENOSPC.
        re.escape(os.strerror(28)),
        ResourceExhausted,
        "the disk is full: free space in TMPDIR and on the disk of the run",
    ),
)


def why_no_container(said: str, returncode: int) -> StageError | None:
    """Why a container did not start, by its stderr; None where its process ended badly.

    Its program ends with 255 where it gave up, and with 1 where the kernel refused it early.
    """
    if returncode not in {1, EXIT_CONTAINER}:
        return None
    own = _OWN_LINE.findall(_COLOUR.sub("", said))
    if not own:
        return None
    for pattern, kind, sentence in _KNOWN:
        if found := re.search(pattern, "\n".join(own)):
            return kind(sentence.format(**found.groupdict()))
    if returncode != EXIT_CONTAINER:
        # A stage may write such lines too, and ends with 1 itself.
        return None
    return StageError(f"the container did not start: {own[-1].strip()}")


def unpacked_its_image(said: str) -> bool:
    """Whether a container program unpacked an image because it could not mount it."""
    return _UNPACKING in said
