import hashlib
import io
import os
import signal
import subprocess
import sys
import threading
import zipfile
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from datamirror import CELLS, LONG_S, NOISE, UNCHECKED, Answer, dataset_of, registry_of, row
from pyscale.data.download import CHUNK_BYTES, Patience, Transfer, Watch, download
from pyscale.data.fetch import INCOMING, Fetcher, FetchOptions
from pyscale.data.progress import asked
from pyscale.data.registry import load_registry
from pyscale.data.verify import data_errors_explained
from pyscale.errors import UserError
from pyscale.resources import shipped
from refusals import refused

NOWHERE = "http://127.0.0.1:9"
ENDLESS = {"length": False}
ONCE = Patience(timeout_s=LONG_S, retries=0, backoff_s=0)


def refusal(fetch, dataset, **options):
    with pytest.raises(UserError) as caught:
        fetch(dataset, **options)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def ensured(name, registry, data_root, report, **options):
    return Fetcher(registry, data_root, FetchOptions(**options), asked, report).ensure(name)


def files_below(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("name", ["membrane-timelapse", "stardist-nuclei"])
def test_a_real_dataset_arrives_byte_for_byte(
    name, shared_data, shared_server, data_root, report, verified
):
    registry = load_registry(shipped("config"))
    movie = ensured(name, registry, data_root, report, mirror=shared_server.address)
    assert movie.exists()
    assert files_below(data_root / name) == files_below(shared_data / name)
    for file in files_below(data_root / name):
        assert (data_root / name / file).read_bytes() == (shared_data / name / file).read_bytes()
    assert set(verified(registry.get(name), name).values()) == {"ok"}


def test_a_second_fetch_asks_the_server_for_nothing(fetch, server, report):
    dataset = CELLS.model_copy(update={"terms": "Name the cells.", "doi": "10.1/2"})
    fetch(dataset)
    said = "\n".join(report.said)
    assert "Licence: CC0-1.0 (http://127.0.0.1:9/licence)" in said
    assert "Name the cells." in said
    assert "cite This test. https://doi.org/10.1/2" in said
    fetch(dataset)
    assert len(server.requests) == 1
    assert "all 1 files are in" in report.said[-1]


def test_a_broken_connection_is_resumed_within_one_fetch(fetch, server):
    server.script = [Answer(break_after=400_000)]
    assert fetch(CELLS).read_bytes() == NOISE
    first, second = server.requests
    assert first.range is None
    assert second.if_range == '"first"'
    start = int(second.range.removeprefix("bytes=").removesuffix("-"))
    assert 400_000 - CHUNK_BYTES <= start <= 400_000
    assert second.body_bytes == len(NOISE) - start


def test_a_broken_download_is_resumed_by_the_next_fetch(fetch, server, data_root):
    server.always = Answer(break_after=400_000)
    assert "the connection broke off" in refusal(fetch, CELLS, patience=ONCE)
    (part, origin) = files_below(data_root / "cells")
    assert (part, origin) == (".incoming/cells.tif.part", ".incoming/cells.tif.part.json")
    have = (data_root / "cells" / part).stat().st_size
    assert have >= 400_000 - CHUNK_BYTES
    server.always = Answer()
    assert fetch(CELLS).read_bytes() == NOISE
    assert server.requests[-1].body_bytes == len(NOISE) - have
    assert files_below(data_root / "cells") == ["cells.tif"]


@pytest.mark.parametrize(
    ("served", "options", "said", "requests"),
    [
        ({"break_after": 0}, {}, ["the connection broke off"], 4),
        ({"status": 503}, {}, ["the server still failed after 3 retries"], 4),
        ({"status": 404}, {}, ["{server}/cells/cells.tif", "404", "--mirror"], 1),
        ({}, {"mirror": NOWHERE, "patience": ONCE}, ["the server is unreachable"], 0),
        # It is not fetched from elsewhere.
        ({}, {"mirror": "/empty"}, ["the mirror has no file /empty/cells/cells.tif"], 0),
    ],
    ids=["breaks off without a byte", "stays busy", "absent", "unreachable", "absent in a folder"],
)
def test_a_server_that_gives_nothing_is_one_sentence(
    fetch, server, served, options, said, requests
):
    server.always = Answer(**served)
    sentence = refusal(fetch, CELLS, **options)
    assert all(words.format(server=server.address) in sentence for words in said)
    assert len(server.requests) == requests


BROKEN = {"break_after": 400_000}
WEAK = {"etag": 'W/"first"'}
OTHER = {"etag": '"second"', "body": NOISE[::-1]}


@pytest.mark.parametrize(
    ("is_checked", "served", "asked_for"),
    [
        (True, [BROKEN, {"ranges": False}], [(200, None), (200, '"first"')]),
        (False, [BROKEN, OTHER], [(200, None), (200, '"first"')]),
        (False, [BROKEN | {"etag": None}, {"etag": None}], [(200, None)] * 2),
        (True, [BROKEN | {"etag": None}, {"etag": None}], [(200, None), (206, None)]),
        (True, [BROKEN | WEAK, WEAK], [(200, None), (206, None)]),
        (True, [{"status": 503}, {"status": 429}], [(503, None), (429, None), (200, None)]),
    ],
    ids=[
        *("ranges ignored", "another version", "no version or sum", "no version", "weak version"),
        "busy",
    ],
)
def test_a_download_goes_on_only_where_its_bytes_are_of_the_same_file(
    fetch, server, is_checked, served, asked_for
):
    server.script = [Answer(**one) for one in served]
    dataset = CELLS if is_checked else UNCHECKED
    fetched = fetch(dataset, trust_first_download=True).read_bytes()
    assert fetched == served[-1].get("body", NOISE)
    assert [(request.status, request.if_range) for request in server.requests] == asked_for


def test_a_part_larger_than_the_file_or_from_another_address_is_not_continued(
    fetch, server, data_root
):
    server.always = Answer(break_after=400_000)
    refusal(fetch, CELLS, patience=ONCE)
    (data_root / "cells" / INCOMING / "cells.tif.part").write_bytes(bytes(700_000))
    server.always = Answer()
    movie = fetch(CELLS)
    assert movie.read_bytes() == NOISE
    assert [request.status for request in server.requests] == [200, 416, 200]
    movie.unlink()
    server.always = Answer(break_after=400_000)
    refusal(fetch, CELLS, patience=ONCE)
    server.always = Answer()
    (server.root / "other").mkdir()
    (server.root / "cells").rename(server.root / "other" / "cells")
    assert fetch(CELLS, mirror=f"{server.address}/other/").read_bytes() == NOISE
    assert server.requests[-1].range is None


def test_a_silent_server_is_given_up(fetch, server):
    silent = Answer(hold_after=0)
    server.always = silent
    patience = Patience(timeout_s=0.2, retries=0, backoff_s=0)
    assert "cannot be fetched" in refusal(fetch, CELLS, patience=patience)
    silent.release.set()


def test_a_wrong_checksum_leaves_nothing_and_takes_nothing(fetch, server, data_root):
    dataset = dataset_of([row("a.tif", NOISE), row("b.tif", NOISE[:1000])])
    server.put("a.tif", NOISE)
    server.put("b.tif", NOISE[:1000])
    fetch(dataset)
    # The user has changed one file of his own; the server now has damaged ones.
    (data_root / "cells" / "a.tif").write_bytes(b"mine")
    server.always = Answer(body=NOISE[::-1])
    sentence = refusal(fetch, dataset)
    assert "does not match the checksum" in sentence
    assert files_below(data_root / "cells") == ["a.tif", "b.tif"]
    assert (data_root / "cells" / "a.tif").read_bytes() == b"mine"
    assert (data_root / "cells" / "b.tif").read_bytes() == NOISE[:1000]


def test_two_at_once_fetch_one_dataset_once(fetch, server, report):
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: fetch(CELLS), range(2)))
    assert len(server.requests) == 1
    assert sum("all 1 files are in" in text for text in report.said) == 1


@pytest.mark.parametrize(
    ("is_checked", "served", "said"),
    [
        (False, {"body": b""}, "is empty (0 bytes)"),
        (False, {"body": b""} | ENDLESS, "is empty (0 bytes)"),
        (False, {"body": b"<html>", "content_type": "text/html; charset=utf-8"}, "a web page"),
        (True, {"body": bytes(600_004)}, "has 600004 bytes and the registry expects 600000"),
        (True, {"body": bytes(599_999)} | ENDLESS, "has 599999 bytes and the registry expects"),
        (True, {"body": bytes(12_000_000)} | ENDLESS, "more than the expected 600000 bytes"),
    ],
    ids=["empty", "empty, no length", "page", "larger", "smaller, no length", "without end"],
)
def test_what_is_plainly_not_the_file_is_refused_and_nothing_of_it_stays(
    fetch, server, data_root, is_checked, served, said
):
    server.always = Answer(**served)
    dataset = CELLS if is_checked else UNCHECKED
    assert said in refusal(fetch, dataset, trust_first_download=True)
    assert "cells.tif" not in files_below(data_root / "cells")
    assert not is_checked or files_below(data_root / "cells") == []


def test_a_disk_with_too_little_space_is_told_before_or_while_it_fills(fetch, server, with_free):
    needed = "has 10 bytes left, but 600000 are needed for the download"
    with_free(10)
    assert needed in refusal(fetch, CELLS)
    assert server.requests == []
    # How large one is whose size is not published, its server says, or nobody.
    assert needed in refusal(fetch, UNCHECKED, trust_first_download=True)
    server.always = Answer(body=NOISE, length=False)
    with_free(700_000)
    said = refusal(fetch, UNCHECKED, trust_first_download=True)
    assert "sends more than the expected 350000 bytes" in said


def test_what_cannot_be_trusted_is_one_sentence(fetch, server, data_root):
    assert "--trust-first-download" in refusal(fetch, UNCHECKED)
    assert server.requests == []
    data_root.mkdir(exist_ok=True)
    (data_root / "trusted.json").write_text("{")
    assert "trusted.json is damaged" in refusal(fetch, UNCHECKED, trust_first_download=True)


def test_the_first_trusted_download_binds_later_ones(fetch, server, data_root, verified):
    movie = fetch(UNCHECKED, trust_first_download=True)
    assert hashlib.sha256(NOISE).hexdigest() in (data_root / "trusted.json").read_text()
    assert verified(UNCHECKED) == {"cells.tif": "ok"}
    movie.unlink()
    server.always = Answer(body=NOISE[::-1])
    assert "checksum" in refusal(fetch, UNCHECKED, trust_first_download=True)
    assert not movie.exists()
    server.always = Answer()
    assert fetch(UNCHECKED).read_bytes() == NOISE


def test_what_others_trusted_meanwhile_is_kept(fetch, server, data_root):
    names = [f"{index}.tif" for index in range(8)]
    for name in names:
        server.put(name, name.encode())
    fetch(dataset_of([[name] for name in names]), trust_first_download=True, parallel=8)
    trusted = (data_root / "trusted.json").read_text()
    assert all(name in trusted for name in names)


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_folder_is_a_mirror(fetch, server, prefix):
    assert fetch(CELLS, mirror=f"{prefix}{server.root}").read_bytes() == NOISE
    assert server.requests == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is absent: Linux has it")
def test_a_full_disk_is_one_sentence(server, tmp_path):
    (tmp_path / "part").symlink_to("/dev/full")
    transfer = Transfer(
        file=CELLS.files[0],
        address=str(server.root / "cells" / "cells.tif"),
        origin="",
        part=tmp_path / "part",
        sha256=CELLS.files[0].sha256,
        patience=Patience(),
    )
    with (
        refused(UserError),
        data_errors_explained(tmp_path),
    ):
        download(transfer, Watch(lambda _: None, threading.Event()))


def test_links_among_what_arrives_are_removed_and_never_followed(fetch, data_root, tmp_path):
    """Others may write into a data folder that is shared."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "thesis.txt").write_text("years of work")
    folder = data_root / "cells"
    folder.mkdir(parents=True)
    (folder / INCOMING).symlink_to(theirs)
    assert fetch(CELLS).read_bytes() == NOISE
    (folder / "cells.tif").unlink()
    (folder / INCOMING).mkdir()
    (folder / INCOMING / "folder").symlink_to(theirs)
    (folder / INCOMING / "cells.tif.part").symlink_to(theirs / "thesis.txt")
    assert fetch(CELLS).read_bytes() == NOISE
    assert files_below(theirs) == ["thesis.txt"]
    assert (theirs / "thesis.txt").read_text() == "years of work"
    assert not (folder / INCOMING).exists()


def test_what_a_killed_process_left_is_removed_and_a_file_that_changed_is_fetched_again(
    fetch, data_root
):
    incoming = data_root / "cells" / INCOMING
    (incoming / "x.unpacking" / "new").mkdir(parents=True)
    (incoming / "tmpabc").write_text("")
    movie = fetch(CELLS)
    assert files_below(data_root / "cells") == ["cells.tif"]
    assert not incoming.exists()
    movie.write_bytes(NOISE[::-1])
    assert fetch(CELLS).read_bytes() == NOISE


def test_an_archive_is_unpacked_and_its_files_are_verified(
    fetch, tmp_path, data_root, verified, server
):
    with zipfile.ZipFile(tmp_path / "cells.zip", "w") as archive:
        archive.writestr("01/t000.tif", b"a")
        archive.writestr("01/t001.tif", b"b")
    content = (tmp_path / "cells.zip").read_bytes()
    server.put("cells.zip", content)
    name, size_bytes, sha256 = row("cells.zip", content)
    file = {"name": name, "size_bytes": size_bytes, "sha256": sha256}
    file |= {"unpack": "zip", "unpacked_limit_bytes": 1000}
    dataset = dataset_of([file], movie="cells/01")
    assert files_below(fetch(dataset)) == ["t000.tif", "t001.tif"]
    assert not (data_root / "cells" / "cells.zip").exists()
    fetch(dataset)
    assert len(server.requests) == 1
    (data_root / "cells" / "cells" / "01" / "t001.tif").write_bytes(b"c")
    assert verified(dataset) == {"cells/01/t000.tif": "ok", "cells/01/t001.tif": "changed"}
    fetch(dataset)
    assert (data_root / "cells" / "cells" / "01" / "t001.tif").read_bytes() == b"b"
    sentence = refusal(fetch, dataset_of([file], movie="cells/02"))
    assert "cells/02, the movie that the registry names" in sentence


def test_terms_that_ask_for_consent_stop_a_script_and_a_person_once(fetch, server, monkeypatch):
    with_terms = CELLS.model_copy(update={"consent": True})
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: PTH123, SIM115
    assert "--accept-terms" in refusal(fetch, with_terms)
    assert server.requests == []
    heard = []
    for _ in range(2):
        fetch(with_terms, consent=lambda name, _: heard.append(name))
    assert heard == ["cells"]


class Terminal(io.StringIO):
    """Standard input of a person who types."""

    def isatty(self):
        return True


def test_a_person_is_shown_the_terms_and_accepts_or_declines(fetch, monkeypatch, capsys):
    dataset = CELLS.model_copy(update={"consent": True, "terms": "Name the cells."})
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert "its terms were not accepted" in refusal(fetch, dataset)
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    fetch(dataset)
    printed = capsys.readouterr()
    assert "Name the cells. See http://127.0.0.1:9/licence" in printed.err
    assert "Name the cells." not in printed.out


def test_ensure_reads_no_file_that_is_there(data_root, report, tmp_path):
    (data_root / "cells").mkdir(parents=True)
    # Only the size is right: had the file been read, it would be fetched again.
    (data_root / "cells" / "cells.tif").write_bytes(bytes(len(NOISE)))
    registry = registry_of([row("cells.tif", NOISE)], movie="cells.tif")
    movie = ensured("cells", registry, data_root, report, mirror=NOWHERE, patience=ONCE)
    assert movie == data_root / "cells" / "cells.tif"
    # A path of the user's own, and a name that nobody knows.
    own = tmp_path / "own.tif"
    own.write_bytes(b"x")
    assert ensured(str(own), registry, data_root, report) == own
    with refused(UserError):
        ensured("cels", registry, data_root, report)


def command(server, data_root, *more):
    return [
        *(sys.executable, "-m", "pyscale", "data", "fetch"),
        *("--mirror", server.address, "--data-folder", str(data_root), *more),
    ]


@pytest.mark.slow
def test_ctrl_c_leaves_only_a_part_that_is_resumed(shared_server, data_root, shared_data):
    held = Answer(hold_after=1_000_000)
    shared_server.script = [held]
    line = command(shared_server, data_root, "cancer-migration")
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
    assert held.held.wait(LONG_S)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    # It may have ended by then: what has arrived and was not read yet is left.
    assert any("stopped" in line for line in process.stderr)
    held.release.set()
    process.communicate(timeout=LONG_S)
    assert process.returncode == 130
    name = "cancer_cell_migration_crop.tif"
    folder = data_root / "cancer-migration"
    assert files_below(folder) == [f".incoming/{name}.part", f".incoming/{name}.part.json"]
    have = (folder / INCOMING / f"{name}.part").stat().st_size
    assert have >= CHUNK_BYTES
    subprocess.run(line, check=True, stderr=subprocess.DEVNULL)
    assert shared_server.requests[-1].range == f"bytes={have}-"
    original = shared_data / "cancer-migration" / name
    assert (folder / name).read_bytes() == original.read_bytes()


def test_the_password_of_a_mirror_is_sent_and_neither_shown_nor_kept(fetch, server, data_root):
    mirror = server.address.replace("://", "://ada:p%40ss@")
    server.script = [Answer(status=404), Answer(break_after=CHUNK_BYTES)]
    said = refusal(fetch, CELLS, mirror=mirror, patience=ONCE)
    said += refusal(fetch, CELLS, mirror=mirror, patience=ONCE)
    kept = [file.read_bytes() for file in data_root.rglob("*.json")]
    assert server.address in said
    assert any(server.address.encode() in content for content in kept)
    fetch(CELLS, mirror=mirror)
    login = f"Basic {b64encode(b'ada:p@ss').decode()}"
    assert {request.authorization for request in server.requests} == {login}
    for text in (said.encode(), *kept):
        assert b"ada" not in text
        assert b"ss@" not in text
