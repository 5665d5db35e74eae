import pytest

from pyscale.errors import UserError
from pyscale.images.registrycall import parse_reference


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
    with pytest.raises(UserError, match="write oras://HOST/PATH"):
        parse_reference(text)


def test_an_image_lies_below_the_place_with_the_same_tag():
    place = parse_reference("oras://registry.example/lab:2")
    assert str(place.below("segment-cuda")) == "oras://registry.example/lab/segment-cuda:2"
