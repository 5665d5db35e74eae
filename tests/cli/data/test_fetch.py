import errno
import hashlib
import io
import os
import signal
import subprocess
import sys
import zipfile
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor

import pytest

from datamirror import CELLS, LONG_S, NOISE, Answer, dataset_of, registry_of, row
from pyscale.data.fetch import INCOMING, Fetcher
from pyscale.data.registry import load_registry
from pyscale.errors import UserError
from pyscale.resources import shipped
from refusals import refused

NOWHERE = "http://127.0.0.1:9"


def refusal(fetch, dataset, **options):
    with refused(UserError) as caught:
        fetch(dataset, **options)
    return str(caught.value)


def ensured(name, registry, data_root, mirror=None):
    return Fetcher(registry, data_root, mirror).ensure(name)


def files_below(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("name", ["membrane-timelapse", "stardist-nuclei"])
def test_a_real_dataset_arrives_byte_for_byte(
    name, shared_data, shared_server, data_root, verified
):
    registry = load_registry(shipped("config"))
    movie = ensured(name, registry, data_root, mirror=shared_server.address)
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
    assert "1 file in" in report.said[-1]


def test_weights_without_a_published_checksum_have_that_of_what_came_recorded(
    fetch, server, report, verified
):
    weights = CELLS.model_copy(
        update={
            "kind": "weights",
            "files": (CELLS.files[0].model_copy(update={"sha256": None, "size_bytes": None}),),
        }
    )
    server.script = [Answer(body=b"<html>not found</html>")]
    assert "sends a page in place of the file" in refusal(fetch, weights)
    fetch(weights)
    recorded = hashlib.sha256(NOISE).hexdigest()
    assert any(f"is published; recorded: sha256 {recorded}" in said for said in report.said)
    assert "cells.tif as segment.model or reconstruct.weights" in report.said[-1]
    assert set(verified(weights).values()) == {"ok"}
    fetch(weights)
    assert len(server.requests) == 2


def test_a_broken_download_starts_anew_within_one_fetch(fetch, server, monkeypatch):
    monkeypatch.setattr("pyscale.data.fetch.RETRIES", 1)
    server.script = [Answer(break_after=400_000)]
    assert fetch(CELLS).read_bytes() == NOISE
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("served", "options"),
    [
        ({"break_after": 400_000}, {}),
        ({"status": 503}, {}),
        ({"status": 404}, {}),
        ({}, {"mirror": NOWHERE}),
        # It is not fetched from elsewhere.
        ({}, {"mirror": "/empty"}),
        ({"body": b""}, {}),
        ({"body": b"<html>"}, {}),
    ],
    ids=["breaks off", "busy", "absent", "unreachable", "absent in a folder", "empty", "page"],
)
def test_a_server_that_does_not_give_the_file_is_one_sentence_and_nothing_is_left(
    fetch, server, data_root, served, options
):
    server.always = Answer(**served)
    refusal(fetch, CELLS, **options)
    assert files_below(data_root) == [".cells.lock"]


def test_a_wrong_checksum_leaves_nothing_and_takes_nothing(fetch, server, data_root):
    dataset = dataset_of([row("a.tif", NOISE), row("b.tif", NOISE[:1000])])
    server.put("a.tif", NOISE)
    server.put("b.tif", NOISE[:1000])
    fetch(dataset)
    # The user has changed one file of his own; the server now has damaged ones.
    (data_root / "cells" / "a.tif").write_bytes(b"mine")
    server.always = Answer(body=NOISE[::-1])
    refusal(fetch, dataset)
    assert files_below(data_root / "cells") == ["a.tif", "b.tif"]
    assert (data_root / "cells" / "a.tif").read_bytes() == b"mine"
    assert (data_root / "cells" / "b.tif").read_bytes() == NOISE[:1000]


def test_two_at_once_fetch_one_dataset_once(fetch, server, report):
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: fetch(CELLS), range(2)))
    assert len(server.requests) == 1
    assert sum("1 file in" in text for text in report.said) == 1


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_folder_is_a_mirror(fetch, server, prefix):
    assert fetch(CELLS, mirror=f"{prefix}{server.root}").read_bytes() == NOISE
    assert server.requests == []


def test_a_disk_that_fills_up_leaves_nothing(fetch, data_root, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pooch.HTTPDownloader.__call__", full)
    with pytest.raises(OSError, match="No space left"):
        fetch(CELLS)
    assert files_below(data_root) == [".cells.lock"]


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
    file |= {"unpack": True}
    dataset = dataset_of([file], movie="cells/01")
    assert files_below(fetch(dataset)) == ["t000.tif", "t001.tif"]
    assert [path.name for path in (data_root / "cells").iterdir()] == ["cells"]
    fetch(dataset)
    assert len(server.requests) == 1
    (data_root / "cells" / "cells" / "01" / "t001.tif").write_bytes(b"c")
    assert verified(dataset) == {"cells/01/t000.tif": "ok", "cells/01/t001.tif": "changed"}
    fetch(dataset)
    assert (data_root / "cells" / "cells" / "01" / "t001.tif").read_bytes() == b"b"
    refusal(fetch, dataset_of([file], movie="cells/02"))


def test_terms_that_ask_for_consent_stop_a_script_and_a_person_once(fetch, server, monkeypatch):
    with_terms = CELLS.model_copy(update={"consent": True})
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: PTH123, SIM115
    refusal(fetch, with_terms)
    assert server.requests == []
    fetch(with_terms, accept_terms=True)
    # What is here was accepted.
    fetch(with_terms)
    assert len(server.requests) == 1


class Terminal(io.StringIO):
    """Standard input of a person who types."""

    def isatty(self):
        return True


def test_a_person_is_shown_the_terms_and_accepts_or_declines(fetch, monkeypatch, capsys):
    dataset = CELLS.model_copy(update={"consent": True, "terms": "Name the cells."})
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    refusal(fetch, dataset)
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    fetch(dataset)
    printed = capsys.readouterr()
    assert "Name the cells. See http://127.0.0.1:9/licence" in printed.err
    assert "Name the cells." not in printed.out


def test_ensure_reads_no_file_that_is_there(data_root, tmp_path):
    (data_root / "cells").mkdir(parents=True)
    # Only the size is right: had the file been read, it would be fetched again.
    (data_root / "cells" / "cells.tif").write_bytes(bytes(len(NOISE)))
    registry = registry_of([row("cells.tif", NOISE)], movie="cells.tif")
    movie = ensured("cells", registry, data_root, mirror=NOWHERE)
    assert movie == data_root / "cells" / "cells.tif"
    # A path of the user's own, and a name that nobody knows.
    own = tmp_path / "own.tif"
    own.write_bytes(b"x")
    assert ensured(str(own), registry, data_root) == own
    with refused(UserError):
        ensured("cels", registry, data_root)


def command(server, data_root, *more):
    return [
        *(sys.executable, "-m", "pyscale", "data", "fetch"),
        *("--mirror", server.address, "--data-folder", str(data_root), *more),
    ]


@pytest.mark.slow
def test_ctrl_c_leaves_nothing_half(shared_server, data_root, shared_data):
    held = Answer(hold_after=1_000_000)
    shared_server.script = [held]
    line = command(shared_server, data_root, "cancer-migration")
    process = subprocess.Popen(line, stderr=subprocess.DEVNULL)
    assert held.held.wait(LONG_S)
    process.send_signal(signal.SIGINT)
    assert process.wait(LONG_S) == 130
    held.release.set()
    folder = data_root / "cancer-migration"
    assert files_below(folder) == []
    subprocess.run(line, check=True, stderr=subprocess.DEVNULL)
    name = "cancer_cell_migration_crop.tif"
    assert (folder / name).read_bytes() == (shared_data / "cancer-migration" / name).read_bytes()


def test_the_password_of_a_mirror_is_sent_and_neither_shown_nor_kept(fetch, server, data_root):
    mirror = server.address.replace("://", "://ada:p%40ss@")
    server.script = [Answer(status=404)]
    said = refusal(fetch, CELLS, mirror=mirror)
    assert server.address in said
    fetch(CELLS, mirror=mirror)
    login = f"Basic {b64encode(b'ada:p@ss').decode()}"
    assert {request.authorization for request in server.requests} == {login}
    kept = [file.read_bytes() for file in data_root.rglob("*.json")]
    for text in (said.encode(), *kept):
        assert b"ada" not in text
        assert b"ss@" not in text
