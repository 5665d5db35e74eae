"""One word for each name and path, the same wherever it appears."""

import pytest

from pyscale.archive.fields import nodes_of
from pyscale.archive.mask import Mask

RUN_ID = "20260317T114224Z-k3f9"


def mask(**given):
    """A mask of a run on the nodes n1 and n11."""
    usual = {"names": {"node": ["n1", "n11", "login.uni.example"], "user": ["ada"]}}
    return Mask(**(usual | {"run_id": RUN_ID} | given))


def test_the_words_of_names_stand_in_the_order_of_the_names():
    names = [f"rack{number:02}" for number in range(12)]
    masked = mask(names={"node": names})
    words = [masked.name("node", name) for name in names]
    assert words == sorted(words)
    assert len(set(words)) == 12


@pytest.mark.parametrize(
    ("given", "text", "masked"),
    [
        # A trial keeps its name though a node is called like a part of it.
        (
            {"trials": r"segment-n\d+-b\d+"},
            "segment-n1-b1 ran on n1",
            "segment-n1-b1 ran on node-2",
        ),
        # What lies in the run keeps its place.
        (
            {},
            f"read /home/a.tif, wrote '/s/{RUN_ID}/tasks/track-n2-b1/w0/out'. Again /home/a.tif.",
            "read /path-1.tif, wrote '/run/tasks/track-n2-b1/w0/out'. Again /path-1.tif.",
        ),
        # A known path with blanks goes to its end.
        (
            {"paths": ["/home/ada/my data (old)/movie.tif"]},
            "cannot open /home/ada/my data (old)/other/frame.tif: no such file",
            "cannot open /path-1.tif: no such file",
        ),
    ],
)
def test_what_is_known_of_a_run_decides_how_it_is_masked(given, text, masked):
    assert mask(**given).text(text) == masked


def test_a_word_of_pyscale_stays_where_somebody_has_it_for_a_name():
    found = mask(names={"node": ["cuda"]}, own_words=["cuda"])
    assert found.text("cuda") == "cuda"
    assert found.name("node", "cuda") == "node-1"


def test_files_of_the_users_own_are_masked_by_name_and_public_ones_are_not():
    found = mask(files=["Smith_2024.ome.tif"], kept=["crop.tif"])
    assert found.path("/data/x/Smith_2024.ome.tif") == "/path-1/input-1.ome.tif"
    assert found.path("/data/x/crop.tif") == "/path-1/crop.tif"
    assert found.text("smith_2024 has 8 frames") == "input-1 has 8 frames"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        # A name within another is another name.
        (
            "n1 waited for n11, and n111 is neither",
            "node-2 waited for node-3, and n111 is neither",
        ),
        # Hosts lose their domain, known ones and others of it.
        (
            "N1.cluster.uni.example asked login and login.uni.example.",
            "node-2 asked node-1 and node-1.",
        ),
        ("ssh files.uni.example: refused", "ssh files.domain-1: refused"),
        # Paths, to their end.
        (
            "--bind=/a/ada:/b/ada PATH=~/bin:~ada/bin --nv=no",
            "--bind=/path-1:/path-2 PATH=/path-3:/path-4 --nv=no",
        ),
        ("nfs01.uni.example:/export on /home", "server-1:/path-1 on /path-2"),
        ("//files/group/scan.tif is gone", "/path-1.tif is gone"),
        ("../eve/a.tif and ./eve/b.tif", "/path-1.tif and /path-2.tif"),
        ("${HOME}/eve and $SCRATCH/eve", "/path-1 and /path-2"),
        ("open '/home/eve/my data/a.tif': no", "open '/path-1.tif': no"),
        # Addresses, and what looks like them.
        ("at 10.0.0.1,192.168.1.1:41234", "at address-1,address-2:41234"),
        ("from fe80::1ff:fe23:4567:890a", "from address-1"),
        ("mail ada@uni.example", "mail mail-1"),
        ("see https://git.uni.example/ada?x=1", "see url-1"),
        ("GPU-0a1b2c3d-1111-2222-3333-444455556666", "device-1"),
        ("at 2026-11-21T15:17:24.066181Z", "at 2026-11-21T15:17:24.066181Z"),
        ("frames 0:24, 12 objects/s, N/A, 1/2", "frames 0:24, 12 objects/s, N/A, 1/2"),
        ("std::vector and numpy 2.0.2", "std::vector and numpy 2.0.2"),
    ],
)
def test_names_paths_and_addresses_in_a_text_are_masked_and_nothing_else_is(text, masked):
    assert mask().text(text) == masked


def test_short_forms_of_node_lists_are_spelt_out():
    assert nodes_of("n[01-03,7],login") == ["n01", "n02", "n03", "n7", "login"]
