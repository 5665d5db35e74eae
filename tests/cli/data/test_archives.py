import io
import stat
import tarfile
import zipfile

import pytest

from pyscale.data.archives import unpack
from pyscale.errors import UserError
from refusals import refused as refused_in_words

LIMIT = 1_000_000


@pytest.fixture
def unpacked(tmp_path):
    """Unpack an archive into `tmp_path/dataset/cells`."""

    def unpack_into(archive, limit_bytes=LIMIT):
        final = tmp_path / "dataset" / "cells"
        final.parent.mkdir(exist_ok=True)
        kind = "zip" if archive.suffix == ".zip" else "tar"
        unpack(archive, kind, final, final.parent / "staging", limit_bytes)
        return final

    return unpack_into


@pytest.fixture
def refused(unpacked, tmp_path):
    """Say why an archive is refused, having checked that nothing was written."""

    def refuse(archive, limit_bytes=LIMIT):
        before = {tmp_path / "dataset", *tmp_path.rglob("*")}
        with refused_in_words(UserError) as caught:
            unpacked(archive, limit_bytes)
        assert {tmp_path / "dataset", *tmp_path.rglob("*")} == before
        return str(caught.value)

    return refuse


def zip_of(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def tar_of(path, *members, content=b"cells"):
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            is_file = member.isfile()
            member.size = len(content) if is_file else 0
            archive.addfile(member, io.BytesIO(content) if is_file else None)
    return path


def tar_member(name, kind=tarfile.REGTYPE, link=""):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return member


def archive_of(path, *names, content=b"cells"):
    """An archive of the kind that its name says."""
    if path.suffix == ".zip":
        return zip_of(path, dict.fromkeys(names, content))
    return tar_of(path, *map(tar_member, names), content=content)


KINDS = pytest.mark.parametrize("kind", ["zip", "tar.gz"])


def test_an_archive_is_unpacked_whole_with_its_folders_and_links_that_stay_inside(
    tmp_path, unpacked
):
    folder = unpacked(zip_of(tmp_path / "one.zip", {"01/t000.tif": b"a", "01_GT/man.txt": b"b"}))
    assert (folder / "01" / "t000.tif").read_bytes() == b"a"
    assert (folder / "01_GT" / "man.txt").read_bytes() == b"b"
    assert not (folder.parent / "staging").exists()
    # An older folder is replaced.
    members = (tar_member("01/t000.tif"), tar_member("01/t001.tif", tarfile.SYMTYPE, "t000.tif"))
    unpacked(tar_of(tmp_path / "two.tar.gz", *members))
    assert (folder / "01" / "t001.tif").read_bytes() == b"cells"
    assert [path.name for path in folder.iterdir()] == ["01"]


@KINDS
@pytest.mark.parametrize(
    "name",
    ["../evil", "01/../../evil", "/tmp/evil", "..\\evil", "C:\\evil", "C:evil", "\\\\host\\evil"],
)
def test_an_archive_that_leaves_the_folder_is_refused(tmp_path, refused, kind, name):
    archive = archive_of(tmp_path / f"evil.{kind}", "good.tif", name)
    refused(archive)


def test_an_encrypted_zip_is_refused(tmp_path, refused):
    archive = zip_of(tmp_path / "secret.zip", {"cells.tif": b"a"})
    content = bytearray(archive.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 0x1
    archive.write_bytes(content)
    refused(archive)


@pytest.mark.parametrize(
    "bad",
    [
        None,
        (tarfile.SYMTYPE, "../../../etc/passwd"),
        (tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.LNKTYPE, "../../etc/passwd"),
        (tarfile.CHRTYPE,),
        (tarfile.BLKTYPE,),
        (tarfile.FIFOTYPE,),
    ],
)
def test_an_archive_with_a_device_or_a_link_that_leaves_the_folder_is_refused(
    tmp_path, refused, bad
):
    if bad is None:
        link = zipfile.ZipInfo("bad")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive = zip_of(tmp_path / "evil.zip", {"good.tif": b"a", link: b"/etc/passwd"})
    else:
        members = (tar_member("good.tif"), tar_member("bad", *bad))
        archive = tar_of(tmp_path / "evil.tar.gz", *members)
    refused(archive)


def test_a_bomb_is_refused_by_its_stated_sizes(tmp_path, refused):
    bomb = zip_of(tmp_path / "bomb.zip", {"a": bytes(600_000), "b": bytes(600_000)})
    assert bomb.stat().st_size < 10_000
    for archive in (bomb, tar_of(tmp_path / "t.tar.gz", tar_member("a"), content=bytes(1_200_000))):
        refused(archive)


def test_a_zip_that_lies_about_its_sizes_is_refused(tmp_path, refused):
    archive = zip_of(tmp_path / "bomb.zip", {"a": bytes(600_000)})
    content = bytearray(archive.read_bytes())
    stated = (600_000).to_bytes(4, "little")
    for header, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = content.index(header) + offset
        assert content[at : at + 4] == stated
        content[at : at + 4] = (10).to_bytes(4, "little")
    archive.write_bytes(content)
    refused(archive, 1000)


def test_an_archive_larger_than_the_disk_is_refused(tmp_path, refused, with_free):
    with_free(10)
    archive = zip_of(tmp_path / "cells.zip", {"a": bytes(1000)})
    refused(archive)


@KINDS
@pytest.mark.parametrize(
    "names",
    [
        ["x" * 300],
        [f"{'d' * 250}/" * 20 + "x"],
        ["a", "a/b"],
        ["a/b", "a"],
    ],
    ids=["a long name", "long folders", "a file is a folder too", "a folder is a file too"],
)
def test_names_that_the_disk_does_not_take_are_one_sentence(tmp_path, refused, kind, names):
    archive = archive_of(tmp_path / f"a.{kind}", *names, content=b"")
    refused(archive)


@KINDS
@pytest.mark.parametrize("keep", [0, 7, 90])
def test_a_truncated_archive_is_one_sentence(tmp_path, refused, kind, keep):
    path = archive_of(tmp_path / f"cells.{kind}", "a", content=bytes(range(256)) * 9)
    path.write_bytes(path.read_bytes()[:keep])
    refused(path)
