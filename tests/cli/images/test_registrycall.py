from contextlib import contextmanager

import pytest

from programs import put_program
from pyscale.errors import UserError
from pyscale.images.engine import Engine
from pyscale.images.registrycall import call_registry, parse_reference
from refusals import refused


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("oras://registry.example/lab", "oras://registry.example/lab:latest"),
        ("oras://registry.example/lab/pyscale:1.0", "oras://registry.example/lab/pyscale:1.0"),
        ("oras://127.0.0.1:5000/a/b_c-d.e:v1", "oras://127.0.0.1:5000/a/b_c-d.e:v1"),
        ("oras://localhost:5000/lab", "oras://localhost:5000/lab:latest"),
        ("oras://[::1]:5000/lab", "oras://[::1]:5000/lab:latest"),
        (
            f"oras://registry.example/lab:1@sha256:{'a' * 64}",
            f"oras://registry.example/lab@sha256:{'a' * 64}",
        ),
    ],
)
def test_a_place_in_a_registry_is_read(text, expected):
    assert str(parse_reference(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "contact",
        "registry.example/lab",
        "docker://registry.example/lab",
        "oras://",
        "oras://contact",
        "oras://registry.example/",
        "oras://registry.example/Lab",
        "oras://registry.example/lab:",
        "oras://registry.example/lab:a tag",
        "oras://registry.example/lab//x",
        "oras://registry.example/lab@sha256:abc",
        "oras://--no-https/lab",
    ],
)
def test_what_is_no_place_is_refused_before_anything_is_asked(text):
    with refused(UserError):
        parse_reference(text)


def test_an_image_lies_below_the_place_with_the_same_tag():
    place = parse_reference("oras://registry.example/lab:2")
    assert str(place.below("segment-cuda")) == "oras://registry.example/lab/segment-cuda:2"


SIZE_BYTES = 1_000_000
PULLS = f"""
head -c {SIZE_BYTES} /dev/zero > "$3"
for _ in $(seq 600); do [ -e "$3.seen" ] && exit 0; sleep 0.1; done
echo "nobody saw what was written" >&2
exit 1
"""
"""Writes a file and ends only when that has been seen."""


class Watched:
    """Leaves a file beside another when a bar shows that all of it is written."""

    def __init__(self, sif):
        self._seen = sif.with_name(f"{sif.name}.seen")
        self.shown = 0

    @contextmanager
    def bar(self, what, total_bytes):
        assert total_bytes == SIZE_BYTES
        yield self._advance

    def _advance(self, n_bytes):
        self.shown += n_bytes
        if self.shown == SIZE_BYTES:
            self._seen.touch()


@pytest.mark.slow
def test_the_bar_moves_while_the_container_program_writes(tmp_path):
    engine = Engine(str(put_program(tmp_path, "apptainer", PULLS)), "apptainer", "1.4.5")
    sif = tmp_path / "contact.sif"
    watched = Watched(sif)
    reference = parse_reference("oras://registry.example/lab")
    call_registry(engine, "pull", sif, reference, watched, size_bytes=SIZE_BYTES)
    assert watched.shown == SIZE_BYTES
