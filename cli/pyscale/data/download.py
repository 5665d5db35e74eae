"""One file from a server or a mirror folder, into a part that a later try can go on from."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import requests
from pydantic import Field, ValidationError
from requests.adapters import HTTPAdapter
from urllib3 import BaseHTTPResponse
from urllib3.exceptions import MaxRetryError
from urllib3.util.retry import Retry

from pyscale.data.progress import Advance
from pyscale.data.registry import RemoteFile
from pyscale.data.verify import require_space
from pyscale.errors import UserError
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record

CHUNK_BYTES = 1 << 16
"""A broken connection loses at most one chunk of what had arrived."""

LONGEST_PAUSE_S = 30.0
"""However long a server asks to wait, so that Ctrl-C is heard."""

RETRIED_STATUSES = (429, 500, 502, 503, 504)
HEADERS = {
    # A compressed answer has another length than the file, and its ranges are of other bytes.
    "Accept-Encoding": "identity",
    "User-Agent": "pyscale",
}


class Patience(Record):
    """How long and how often to try."""

    timeout_s: float = Field(30.0, gt=0, description="Longest silence of a server")
    retries: int = Field(5, ge=0, description="Tries that bring nothing before giving up")
    backoff_s: float = Field(0.5, ge=0, description="First pause between tries; it doubles")


@dataclass(frozen=True)
class Transfer:
    """One file to bring."""

    file: RemoteFile
    address: str
    """http, https or file address, or a path; it is shown and kept, so it has no password."""
    origin: str
    """Its address at its source, even where a mirror gives it."""
    part: Path
    """Where the bytes go. It stays when the download breaks off."""
    sha256: str | None
    """Checksum that will prove the whole: only with one are bytes of a server that names no version
    of its file joined to those of an earlier try."""
    patience: Patience
    login: tuple[str, str] | None = None
    """Name and password for the server."""


class Watch(NamedTuple):
    """What goes on with a transfer."""

    advance: Advance
    """Told of every byte that counts, including those of an earlier try."""
    stop: threading.Event
    """Set to end the download at the next chunk."""


class Stopped(Exception):  # noqa: N818 - not an error: somebody asked for it
    """The download was told to stop; its part stays for the next try."""


class _BrokenOff(Exception):  # noqa: N818 - always caught here
    """The connection ended before the file did."""


class _PartOrigin(Record):
    """Where the bytes of a part come from: written beside it, so that no other are added."""

    address: str
    validator: str | None = Field(description="Strong ETag or date, for If-Range")


class _Retry(Retry):
    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        asked_s = super().get_retry_after(response)
        return asked_s and min(asked_s, LONGEST_PAUSE_S)


def download(transfer: Transfer, watch: Watch) -> None:
    """Bring all bytes of a file into its part, going on from what is there already."""
    transfer.part.parent.mkdir(parents=True, exist_ok=True)
    if urlsplit(transfer.address).scheme in {"http", "https"}:
        _download_http(transfer, watch)
    else:
        _copy(transfer, watch)
    size = _size_of(transfer.part)
    if size == 0 or size != (transfer.file.size_bytes or size):
        discard(transfer.part)
    _refuse_size(transfer, size)


def discard(part: Path) -> None:
    """Remove a part and what is known of it."""
    part.unlink(missing_ok=True)
    _origin_file(part).unlink(missing_ok=True)


def _copy(transfer: Transfer, watch: Watch) -> None:
    address = transfer.address
    is_url = address.startswith("file://")
    source = Path(unquote(urlsplit(address).path) if is_url else address).expanduser()
    if not source.is_file():
        raise UserError(
            f"the mirror has no file {source}: put it there, or leave out --mirror to fetch from "
            "the source"
        )
    size = source.stat().st_size
    _refuse_size(transfer, size)
    with source.open("rb") as stream:
        _append(iter(lambda: stream.read(CHUNK_BYTES), b""), transfer, watch, have=0, most=size)


def _download_http(transfer: Transfer, watch: Watch) -> None:
    patience = transfer.patience
    fresh = _Retry(
        total=patience.retries,
        backoff_factor=patience.backoff_s,
        status_forcelist=RETRIED_STATUSES,
        allowed_methods={"GET"},
    )
    left: Retry = fresh
    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=fresh))
        session.headers.update(HEADERS)
        while True:
            had = _size_of(transfer.part)
            try:
                _ask_for_the_rest(session, transfer, watch)
                return
            except _BrokenOff as broken:
                # Only tries that bring nothing wear out patience.
                left = fresh if _size_of(transfer.part) > had else left
                try:
                    left = left.increment("GET", transfer.address, error=broken)
                except MaxRetryError as worn_out:
                    reason = f"the connection broke off: {broken}"
                    raise _cannot_fetch(transfer, reason) from worn_out
                left.sleep()
            except requests.RequestException as error:
                raise _cannot_fetch(transfer, _reason(error, patience)) from error


def _ask_for_the_rest(session: requests.Session, transfer: Transfer, watch: Watch) -> None:
    """Ask once for what is missing and add it to the part."""
    part = transfer.part
    origin = _read_origin(part)
    if (
        origin is None
        or origin.address != transfer.address
        or (origin.validator is None and transfer.sha256 is None)
    ):
        discard(part)
    have = _size_of(part)
    # A server refuses a range that begins at the end.
    if have and have == transfer.file.size_bytes:
        watch.advance(have)
        return
    headers = {"Range": f"bytes={have}-"} if have else {}
    if have and origin is not None and origin.validator:
        headers["If-Range"] = origin.validator
    with session.get(
        transfer.address,
        headers=headers,
        auth=transfer.login,
        stream=True,
        timeout=transfer.patience.timeout_s,
    ) as response:
        if response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            # What is here is no beginning of what the server has: start anew.
            discard(part)
            raise _BrokenOff("the server refused to continue an earlier download")
        response.raise_for_status()
        if response.headers.get("Content-Type", "").startswith("text/html"):
            raise UserError(
                f"{transfer.address} returned a web page instead of the file: open it in a "
                "browser to see what the site asks for"
            )
        if not _continues_at(have, response):
            discard(part)
            have = 0
        most = transfer.file.size_bytes
        length = response.headers.get("Content-Length", "")
        if length.isdecimal():
            _refuse_size(transfer, have + int(length))
            require_space(part.parent, int(length), "the download")
        elif most is None:
            # An archive is never larger than what is in it by more than its names.
            most = (
                transfer.file.unpacked_limit_bytes
                or have + shutil.disk_usage(part.parent).free // 2
            )
        _write_origin(transfer, response)
        try:
            _append(response.iter_content(CHUNK_BYTES), transfer, watch, have=have, most=most)
        except requests.RequestException as error:
            # The next try counts these bytes again.
            watch.advance(-_size_of(part))
            raise _BrokenOff(str(error)) from error


def _append(
    chunks: Iterable[bytes], transfer: Transfer, watch: Watch, *, have: int, most: int | None
) -> None:
    """Write chunks after the first `have` bytes of the part, and all of it to the disk."""
    watch.advance(have)
    with transfer.part.open("ab" if have else "wb") as file:
        for chunk in chunks:
            have += len(chunk)
            if most is not None and have > most:
                discard(transfer.part)
                raise UserError(
                    f"{transfer.address} sends more than the expected {most} bytes: fetch again "
                    "later, or from a --mirror that has the original"
                )
            file.write(chunk)
            watch.advance(len(chunk))
            if watch.stop.is_set():
                raise Stopped
        file.flush()
        os.fsync(file.fileno())


def _continues_at(have: int, response: requests.Response) -> bool:
    """Whether the answer begins where the part ends; a server may send the whole instead."""
    if response.status_code != HTTPStatus.PARTIAL_CONTENT:
        return False
    return response.headers.get("Content-Range", "").startswith(f"bytes {have}-")


def _refuse_size(transfer: Transfer, size: int) -> None:
    if size == 0:
        raise UserError(
            f"{transfer.address} is empty (0 bytes): fetch again later, or from a --mirror"
        )
    if transfer.file.size_bytes is not None and size != transfer.file.size_bytes:
        raise UserError(
            f"{transfer.address} has {size} bytes and the registry expects "
            f"{transfer.file.size_bytes}: fetch from a --mirror that has the original"
        )


def _reason(error: requests.RequestException, patience: Patience) -> str:
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"the server answered {error.response.status_code} {error.response.reason}"
    reasons = (
        (
            requests.exceptions.RetryError,
            f"the server still failed after {patience.retries} retries",
        ),
        (requests.Timeout, f"no answer within {patience.timeout_s:g} s"),
        (requests.exceptions.SSLError, "its certificate is not trusted"),
        (requests.ConnectionError, "the server is unreachable"),
    )
    return next((words for kind, words in reasons if isinstance(error, kind)), str(error))


def _cannot_fetch(transfer: Transfer, reason: str) -> UserError:
    return UserError(
        f"{transfer.address} cannot be fetched ({reason}): check the network and run the same "
        "command again, or name a --mirror"
    )


def _origin_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _read_origin(part: Path) -> _PartOrigin | None:
    try:
        return _PartOrigin.model_validate_json(_origin_file(part).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValidationError):
        return None


def _write_origin(transfer: Transfer, response: requests.Response) -> None:
    # None counts as a weak one.
    etag = response.headers.get("ETag", "W/")
    # A weak ETag does not promise the same bytes, so HTTP forbids it in If-Range.
    validator = response.headers.get("Last-Modified") if etag.startswith("W/") else etag
    origin = _PartOrigin(address=transfer.address, validator=validator)
    write_atomically(_origin_file(transfer.part), origin.model_dump_json())


def _size_of(part: Path) -> int:
    try:
        return part.stat().st_size
    except FileNotFoundError:
        return 0
