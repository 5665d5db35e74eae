"""What a container program says at its end, as a person needs to hear it.

The lines are those of Apptainer 1.4.5, which the tests of real containers provoke again.
"""

import pytest

from pyscale.runtimes.words import unpacked_its_image, why_no_container

NOISE = "INFO:    gocryptfs not found, will not be able to use gocryptfs\n"


@pytest.mark.parametrize(
    ("said", "returncode", "words", "exit_code"),
    [
        (
            "\x1b[91mERROR  : Failed to create user namespace: maximum number of user namespaces "
            "exceeded, check /proc/sys/user/max_user_namespaces\n\x1b[0m",
            1,
            "cannot create user namespaces",
            2,
        ),
        (
            "FATAL:   container creation failed: image driver mount failure: image driver "
            "squashfuse_ll instance exited with error: squashfuse_ll exited: fuse: mount failed: "
            "Invalid argument\n",
            255,
            "FUSE does not work here",
            2,
        ),
        (
            "FATAL:   While checking container encryption: could not open image /i/a b.sif: failed "
            "to retrieve path for /i/a b.sif: lstat /i/a b.sif: no such file or directory\n",
            255,
            "the image /i/a b.sif does not exist",
            2,
        ),
        (
            "FATAL:   container creation failed: mount hook function failure: mount /d->/d error: "
            "while mounting /d: mount source /d doesn't exist\n",
            255,
            "/d does not exist on the node",
            2,
        ),
        (
            "FATAL:   container creation failed: mount hook function failure: mount "
            "/dev/shm/d->/var/lib/apptainer/mnt/session/dev/shm/d error: while mounting "
            "/dev/shm/d: destination /var/lib/apptainer/mnt/session/dev/shm/d doesn't exist in "
            "container\n",
            255,
            "/dev/shm/d cannot be mounted in an image, which has its own /dev",
            2,
        ),
        (
            "FATAL:   While checking container encryption: could not open image /x.sif: image "
            "format not recognized\n",
            255,
            "the image is damaged",
            2,
        ),
        (
            "FATAL:   While checking image: could not open image /x.sif: the image's architecture "
            "(arm64) could not run on the host's (amd64)\n",
            255,
            "the image is for arm64, but this machine is amd64",
            2,
        ),
        (
            "FATAL:   while extracting /x.sif: write /tmp/r: No space left on device\n",
            255,
            "disk is full",
            3,
        ),
        (
            "FATAL:   something new\n",
            255,
            "the container did not start: something new",
            1,
        ),
    ],
)
def test_each_known_cause_has_its_sentence(said, returncode, words, exit_code):
    why = why_no_container(NOISE + said, returncode)
    assert words in str(why)
    assert "\n" not in str(why)
    assert why.exit_code == exit_code


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
