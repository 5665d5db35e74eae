from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Literal

import pytest

from pyscale.data.archives import unpack
from pyscale.errors import UserError

LIMIT = 1_000_000
A_LINK = "'bad', which is a link or a device"


@pytest.fixture
def unpacked(tmp_path: Path) -> Any:
    """Unpack an archive into `tmp_path/dataset/cells`."""

    def unpack_into(archive: Path, limit_bytes: int = LIMIT) -> Path:
        final = tmp_path / "dataset" / "cells"
        final.parent.mkdir(exist_ok=True)
        kind: Literal["zip", "tar"] = "zip" if archive.suffix == ".zip" else "tar"
        unpack(archive, kind, final, final.parent / "staging", limit_bytes)
        return final

    return unpack_into


@pytest.fixture
def refused(unpacked: Any, tmp_path: Path) -> Any:
    """Say why an archive is refused, having checked that nothing was written."""

    def refuse(archive: Path, limit_bytes: int = LIMIT) -> str:
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(UserError) as caught:
            unpacked(archive, limit_bytes)
        after = [path for path in sorted(tmp_path.rglob("*")) if path.name != "dataset"]
        assert after == before
        return str(caught.value)

    return refuse


def zip_of(path: Path, members: dict[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def tar_of(path: Path, *members: tarfile.TarInfo, content: bytes = b"cells") -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            is_file = member.isfile()
            member.size = len(content) if is_file else 0
            archive.addfile(member, io.BytesIO(content) if is_file else None)
    return path


def tar_member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return member


def test_a_zip_is_unpacked_with_its_folders(tmp_path, unpacked):
    archive = zip_of(tmp_path / "cells.zip", {"01/t000.tif": b"a", "01_GT/man.txt": b"b"})
    folder = unpacked(archive)
    assert (folder / "01" / "t000.tif").read_bytes() == b"a"
    assert (folder / "01_GT" / "man.txt").read_bytes() == b"b"
    assert not (folder.parent / "staging").exists()


def test_a_tar_is_unpacked_with_links_that_stay_inside(tmp_path, unpacked):
    members = (tar_member("01/t000.tif"), tar_member("01/t001.tif", tarfile.SYMTYPE, "t000.tif"))
    folder = unpacked(tar_of(tmp_path / "cells.tar.gz", *members))
    assert (folder / "01" / "t001.tif").read_bytes() == b"cells"


def test_an_older_folder_is_replaced_whole(tmp_path, unpacked):
    unpacked(zip_of(tmp_path / "one.zip", {"old.tif": b"a"}))
    folder = unpacked(zip_of(tmp_path / "two.zip", {"new.tif": b"b"}))
    assert [path.name for path in folder.iterdir()] == ["new.tif"]


@pytest.mark.parametrize(
    "name",
    ["../evil", "01/../../evil", "/tmp/evil", "..\\evil", "C:\\evil", "C:evil", "\\\\host\\evil"],
)
def test_a_zip_that_leaves_the_folder_is_refused(tmp_path, refused, name):
    archive = zip_of(tmp_path / "evil.zip", {"good.tif": b"a", name: b"evil"})
    assert "would land outside" in refused(archive)


def test_a_zip_with_a_link_is_refused(tmp_path, refused):
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive = zip_of(tmp_path / "evil.zip", {"good.tif": b"a", link: b"/etc/passwd"})
    assert "'link', which is a link or a device" in refused(archive)


def test_an_encrypted_zip_is_refused(tmp_path, refused):
    archive = zip_of(tmp_path / "secret.zip", {"cells.tif": b"a"})
    content = bytearray(archive.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 0x1
    archive.write_bytes(content)
    assert "is encrypted" in refused(archive)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (("../evil",), "would land outside"),
        (("01/../../evil",), "would land outside"),
        (("/tmp/evil",), "would land outside"),
        (("bad", tarfile.SYMTYPE, "../../../etc/passwd"), A_LINK),
        (("bad", tarfile.SYMTYPE, "/etc/passwd"), A_LINK),
        (("bad", tarfile.LNKTYPE, "../../etc/passwd"), A_LINK),
        (("bad", tarfile.CHRTYPE), A_LINK),
        (("bad", tarfile.BLKTYPE), A_LINK),
        (("bad", tarfile.FIFOTYPE), A_LINK),
    ],
)
def test_a_tar_that_leaves_the_folder_or_has_a_device_is_refused(tmp_path, refused, bad, said):
    archive = tar_of(tmp_path / "evil.tar.gz", tar_member("good.tif"), tar_member(*bad))
    assert said in refused(archive)


def test_a_zip_bomb_is_refused_by_its_stated_sizes(tmp_path, refused):
    archive = zip_of(tmp_path / "bomb.zip", {"a": bytes(600_000), "b": bytes(600_000)})
    assert archive.stat().st_size < 10_000
    assert "more than the 1000000 bytes that the registry allows" in refused(archive)


def test_a_tar_bomb_is_refused_by_its_first_header(tmp_path, refused):
    archive = tar_of(tmp_path / "bomb.tar.gz", tar_member("a"), content=bytes(1_200_000))
    assert "more than the 1000000 bytes" in refused(archive)


def test_a_zip_that_lies_about_its_sizes_is_refused(tmp_path, refused):
    archive = zip_of(tmp_path / "bomb.zip", {"a": bytes(600_000)})
    content = bytearray(archive.read_bytes())
    stated = (600_000).to_bytes(4, "little")
    for header, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = content.index(header) + offset
        assert content[at : at + 4] == stated
        content[at : at + 4] = (10).to_bytes(4, "little")
    archive.write_bytes(content)
    assert "cannot be unpacked" in refused(archive, 1000)


def test_an_archive_larger_than_the_disk_is_refused(tmp_path, refused, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10}))
    archive = zip_of(tmp_path / "cells.zip", {"a": bytes(1000)})
    assert "has 10 bytes left, but 1000 are needed for the contents of cells.zip" in refused(
        archive
    )


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
@pytest.mark.parametrize("name", ["x" * 300, f"{'d' * 250}/" * 20 + "x"])
def test_a_name_that_no_disk_takes_is_one_sentence(tmp_path, refused, kind, name):
    archive = tmp_path / f"a.{kind}"
    zip_of(archive, {name: b""}) if kind == "zip" else tar_of(archive, tarfile.TarInfo(name))
    assert "cannot be written here (File name too long)" in refused(archive)


@pytest.mark.parametrize("names", [("a", "a/b"), ("a/b", "a")])
def test_a_file_that_is_a_folder_too_is_one_sentence(tmp_path, refused, names):
    assert "cannot be written here" in refused(
        zip_of(tmp_path / "a.zip", dict.fromkeys(names, b""))
    )


@pytest.mark.parametrize("name", ["cells.zip", "cells.tar.gz"])
@pytest.mark.parametrize("keep", [0, 7, 90])
def test_a_truncated_archive_is_one_sentence(tmp_path, refused, name, keep):
    path = tmp_path / name
    whole = (
        zip_of(path, {"a": bytes(range(256)) * 9})
        if path.suffix == ".zip"
        else tar_of(path, tar_member("a"), content=bytes(range(256)) * 9)
    )
    path.write_bytes(whole.read_bytes()[:keep])
    assert f"{name} cannot be unpacked" in refused(path)
