"""Two builds of one definition give the same packages and files, and a comparison that sees."""

from pathlib import Path

import pytest

import compare_images
from compare_images import compare, list_files
from pyscale.errors import UserError
from pyscale.images.build import BuildOptions, build
from pyscale.images.catalog import definitions
from pyscale.images.lockfile import ImageFolder
from pyscale.images.sif import read_sif

CODE = "code/pyscale_stages/contact/stage.py"


@pytest.fixture
def other(tmp_path):
    return ImageFolder(tmp_path / "other")


def append(containers, step):
    with (containers / "stage.def").open("a", encoding="utf-8") as file:
        file.write(step)


def test_two_builds_differ_in_the_date_of_the_build_alone_and_files_are_listed_with_what_they_hold(
    build_toy, other
):
    first = build_toy().sif
    files, others = compare(first, build_toy.into(other)().sif)
    assert files == []
    assert "Python packages: the same 0" in others
    listing = list_files(first, keep=(CODE,))
    source = Path(__file__).resolve().parents[2] / "stages/pyscale_stages/contact/stage.py"
    assert listing.kept == {CODE: source.read_bytes()}
    assert listing.files[CODE].size_bytes == source.stat().st_size
    assert (listing.files[CODE].mode, listing.files[CODE].owner) == ("644", "0:0")
    assert listing.files["code"].kind == "D"


def test_every_difference_is_told(build_toy, other, containers):
    append(containers, "    echo stage > /size\n    echo stage > /mode\n")
    first = build_toy().sif
    append(containers, "    echo other > /stage\n    echo another > /size\n    chmod 600 /mode\n")
    append(containers, "    echo more > /more\n    ln -s /stage /link\n    rm /libraries\n")
    files, _ = compare(first, build_toy.into(other)().sif)
    # The definition is in its image, so the labels and it differ too.
    told = sorted(text for text in files if not text.startswith(".singularity.d/"))
    lines = [
        "libraries: only in the first",
        "link: only in the second",
        "mode: mode 664 / 600",
        "more: only in the second",
        "size: size_bytes 6 / 8, sha256",
        "stage: sha256",
    ]
    assert [text.startswith(line) for text, line in zip(told, lines, strict=True)] == [True] * 6


def test_a_file_that_is_no_image_is_one_sentence(build_toy, tmp_path):
    good = build_toy().sif
    text = tmp_path / "text.sif"
    text.write_text("no image")
    with pytest.raises(UserError, match=r"text\.sif is not a SIF image"):
        compare(good, text)
    damaged = tmp_path / "damaged.sif"
    content = bytearray(good.read_bytes())
    offset = read_sif(good).system_offset
    content[offset + 100_000 : offset + 400_000] = b"\0" * 300_000
    damaged.write_bytes(content)
    with pytest.raises(
        UserError, match=r"damaged\.sif (cannot be listed|cannot be read|holds what)"
    ):
        compare(good, damaged)


def test_the_command_prints_the_differences_and_tells_by_its_exit_code(
    build_toy, other, containers, capsys
):
    first = str(build_toy().sif)
    assert compare_images.main([first, first]) == 0
    append(containers, "    echo more > /more\n")
    assert compare_images.main([first, str(build_toy.into(other)().sif)]) == 1
    assert "more: only in the second" in capsys.readouterr().out
    assert compare_images.main([first]) == 2
    assert compare_images.main([first, "nowhere.sif"]) == 2
    assert "error: nowhere.sif does not exist" in capsys.readouterr().err


@pytest.mark.slow
def test_a_real_image_built_again_from_the_same_parts_has_the_same_files(
    built_images, other, monkeypatch
):
    # An image that is current may have been built at an earlier commit, which is its label.
    commit = built_images.read_lock().images["storage"].git_commit
    monkeypatch.setattr("pyscale.images.build.code_commit", lambda: commit)
    [base] = (built_images.path / "layers").glob("base-*.sif")
    options = BuildOptions(base=str(base), wheels=built_images.path / "parts")
    [built] = build(definitions(["storage"]), other, options, lambda event: None)
    files, others = compare(built_images.sif("storage"), built.sif)
    assert files == []
    assert not [line for line in others if "that only one image has" in line]
