import zipfile

import pytest

from pyscale.data.archives import unpack
from pyscale.errors import UserError
from refusals import refused as refused_in_words


@pytest.fixture
def unpacked(tmp_path):
    """Unpack an archive into `tmp_path/dataset/cells`."""

    def unpack_into(archive):
        final = tmp_path / "dataset" / "cells"
        final.parent.mkdir(exist_ok=True)
        unpack(archive, final, tmp_path / "staging")
        return final

    return unpack_into


@pytest.fixture
def refused(unpacked, tmp_path):
    """Have an archive refused, and check that no dataset appeared."""

    def refuse(archive):
        with refused_in_words(UserError):
            unpacked(archive)
        assert list((tmp_path / "dataset").iterdir()) == []

    return refuse


def zip_of(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_an_archive_is_unpacked_whole_with_its_folders(tmp_path, unpacked):
    folder = unpacked(zip_of(tmp_path / "one.zip", {"01/t000.tif": b"a", "01_GT/man.txt": b"b"}))
    assert (folder / "01" / "t000.tif").read_bytes() == b"a"
    assert (folder / "01_GT" / "man.txt").read_bytes() == b"b"
    # An older folder is replaced.
    unpacked(zip_of(tmp_path / "two.zip", {"02/t000.tif": b"c"}))
    assert [path.name for path in folder.iterdir()] == ["02"]
    assert [path.name for path in tmp_path.iterdir()] == ["dataset"]


@pytest.mark.parametrize(
    "name",
    ["../evil", "01/../../evil", "/tmp/evil", "..\\evil", "C:\\evil", "\\\\host\\evil"],
)
def test_an_archive_that_leaves_the_folder_is_refused(tmp_path, refused, name):
    refused(zip_of(tmp_path / "evil.zip", {"good.tif": b"a", name: b"b"}))


def test_an_encrypted_zip_is_refused(tmp_path, refused):
    archive = zip_of(tmp_path / "secret.zip", {"cells.tif": b"a"})
    content = bytearray(archive.read_bytes())
    for header, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(header) + offset] |= 0x1
    archive.write_bytes(content)
    refused(archive)


def test_an_archive_larger_than_the_disk_is_refused(tmp_path, refused, with_free):
    with_free(10)
    refused(zip_of(tmp_path / "cells.zip", {"a": bytes(1000)}))


@pytest.mark.parametrize("keep", [0, 7, 90])
def test_a_truncated_archive_is_one_sentence(tmp_path, refused, keep):
    path = zip_of(tmp_path / "cells.zip", {"a": bytes(range(256)) * 9})
    path.write_bytes(path.read_bytes()[:keep])
    refused(path)
