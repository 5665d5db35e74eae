"""What a container program says at its end, as a person needs to hear it.

The lines are those of Apptainer 1.4.5, which the tests of real containers provoke again.
"""

import pytest

from pyscale.store.containererrors import unpacked_its_image, why_no_container
from refusals import assert_held

NOISE = "INFO:    gocryptfs not found, will not be able to use gocryptfs\n"


NO_SPACE = "while extracting /x.sif: write /tmp/r: No space left on device"
NO_NAMESPACE = (
    "\x1b[91mERROR  : Failed to create user namespace: maximum number of user namespaces "
    "exceeded, check /proc/sys/user/max_user_namespaces\n\x1b[0m"
)
NO_FUSE = (
    "image driver mount failure: image driver squashfuse_ll instance exited with error: "
    "squashfuse_ll exited: fuse: mount failed: Invalid argument"
)
SESSION = "/var/lib/apptainer/mnt/session"


def created(why):
    return f"FATAL:   container creation failed: {why}\n"


def mounted(source, where, why):
    failed = f"mount hook function failure: mount {source}->{where} error: while mounting {source}"
    return created(f"{failed}: {why}")


def opened(image, why, check="container encryption"):
    return f"FATAL:   While checking {check}: could not open image {image}: {why}\n"


GONE = "failed to retrieve path for /i/a b.sif: lstat /i/a b.sif: no such file or directory"
OTHER_MACHINE = "the image's architecture (arm64) could not run on the host's (amd64)"
IN_DEV = f"destination {SESSION}/dev/shm/d doesn't exist in container"


@pytest.mark.parametrize(
    ("said", "exit_code"),
    [
        (created(NO_FUSE), 2),
        (opened("/i/a b.sif", GONE), 2),
        (mounted("/d", "/d", "mount source /d doesn't exist"), 2),
        (mounted("/dev/shm/d", f"{SESSION}/dev/shm/d", IN_DEV), 2),
        (opened("/x.sif", "image format not recognized"), 2),
        (opened("/x.sif", OTHER_MACHINE, check="image"), 2),
        (f"FATAL:   {NO_SPACE}\n", 3),
        ("FATAL:   something new\n", 1),
        (NO_NAMESPACE, 2),
    ],
    ids=range(9),
)
def test_each_known_cause_has_its_sentence(said, exit_code):
    why = why_no_container(NOISE + said, 1 if said == NO_NAMESPACE else 255)
    assert "\n" not in str(why)
    assert why.exit_code == exit_code
    assert_held(str(why))


@pytest.mark.parametrize(
    ("said", "returncode"),
    [
        ("Traceback …\nZeroDivisionError: division by zero\n", 1),
        ("FATAL: my library gave up\n", 1),
        ("error: --frames 0:99 does not lie inside\n", 2),
        ("FATAL:   container creation failed\n", 3),
        ("", 255),
    ],
)
def test_what_a_stage_says_is_not_taken_for_the_container_program(said, returncode):
    assert why_no_container(NOISE + said, returncode) is None


def test_an_unpacked_image_is_noticed():
    assert unpacked_its_image(NOISE + "INFO:    Converting SIF file to temporary sandbox...\n")
    assert not unpacked_its_image(NOISE)
