"""Bringing of whole datasets: every file fetched or made, checked and in place, or none half."""

from __future__ import annotations

import shutil
import sys
import zipfile
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pooch
import requests
from requests.utils import get_auth_from_url
from rich.prompt import Confirm

from pyscale.console import Advance, Console, bar, talk
from pyscale.data.registry import Dataset, Registry, RemoteFile
from pyscale.data.synthetic import make_dataset
from pyscale.data.verify import (
    data_errors_explained,
    dataset_path,
    presence,
    record_contents,
    synthetic_kinds,
    verify_dataset,
)
from pyscale.errors import UserError
from pyscale.filelocks import claimed
from pyscale.settings import without_login
from pyscale_stages.wording import did_you_mean, plural

INCOMING = ".incoming"
"""Folder inside a dataset's folder for what is not yet whole and checked."""
CHUNK_BYTES = 1 << 16
TIMEOUT_S = 30.0
"""Longest silence of a server."""
RETRIES = 3
"""Retries of a download that fails."""


@dataclass(frozen=True)
class Fetcher:
    """Brings datasets into a data folder."""

    registry: Registry
    data_root: Path
    mirror: str | None
    """Address or folder to fetch {mirror}/{dataset}/{file} from."""
    accept_terms: bool = False
    """Whether the user is not asked to accept the terms of datasets that want it."""

    def ensure(self, name_or_path: str) -> Path:
        """Path of the data that a name or path stands for, fetched or made if it is absent."""
        path = dataset_path(name_or_path, self.registry, self.data_root)
        if path is not None:
            return path
        if name_or_path not in self.registry.datasets:
            known = [*self.registry.datasets, *synthetic_kinds(self.registry, self.data_root)]
            raise UserError(
                f"unknown dataset {name_or_path!r}, and no file or folder has this name: "
                f"{did_you_mean(name_or_path, known)}"
            )
        return self.fetch(name_or_path)

    def fetch(self, name: str) -> Path:
        """Fetch the files of a dataset that are absent or changed; return the path of its movie.

        Files appear under their names when they are whole and their checksum is right. A synthetic
        dataset is made instead, without a network; one that is made from another's image brings
        that too.
        """
        dataset = self.registry.get(name)
        if dataset.drifted is not None:
            self.fetch(dataset.drifted.source)
        asks = dataset.consent and not self.accept_terms
        if asks and presence(name, dataset, self.data_root) != "here":
            _ask_for_consent(name, dataset)
        folder = self.data_root / name
        with data_errors_explained(self.data_root), _sole_fetcher(name, self.data_root):
            if dataset.made is not None:
                # A killed process leaves them: nobody else is at work on this name.
                for left in self.data_root.glob(f".{name}.*.partial"):
                    shutil.rmtree(left)
                make_dataset(name, dataset.made, self.data_root)
                return folder / dataset.movie
            wanted = self._wanted(name, dataset)
            known = plural(len(dataset.files), "file")
            if wanted:
                _say_terms(name, dataset)
                self._bring(name, dataset, wanted)
                talk(f"{name}: fetched {len(wanted)} of {known} to {folder}")
            else:
                talk(f"{name}: {known} in {folder}, unchanged")
        movie = folder / dataset.movie
        if not movie.exists():
            raise UserError(
                f"{name} was fetched but lacks {movie}, the movie that the registry names: report "
                "this error"
            )
        if dataset.kind == "weights":
            talk(f"{name}: give {movie} as segment.model or reconstruct.weights")
        return movie

    def _wanted(self, name: str, dataset: Dataset) -> list[RemoteFile]:
        """The files that are absent or not what they must be."""
        states = verify_dataset(name, dataset, self.data_root)
        wanted = []
        for file in dataset.files:
            own = [one.state for one in states if one.file.split("/")[0] == file.local_name]
            if not own or {*own} != {"ok"}:
                wanted.append(file)
            if "changed" in own:
                talk(f"{name}: {file.local_name} has changed and is replaced")
        return wanted

    def _bring(self, name: str, dataset: Dataset, wanted: list[RemoteFile]) -> None:
        """Fetch files, put each in its place, and record what the dataset then holds."""
        folder = self.data_root / name
        incoming = folder / INCOMING
        _empty(incoming)
        try:
            for file in wanted:
                arrived = self._download(name, dataset, file, incoming)
                if file.sha256 is None and _begins(arrived) in {b"", b"<"}:
                    raise UserError(
                        f"{dataset.address(file)} sends a page in place of the file: open it in a "
                        "browser to see what the site says"
                    )
                if file.unpack:
                    _unpack(arrived, folder / file.local_name, incoming / "unpacked")
                else:
                    arrived.replace(folder / file.name)
        finally:
            shutil.rmtree(incoming)
        contents = record_contents(folder, dataset)
        if any(file.sha256 is None for file in wanted):
            for own in contents.files:
                talk(
                    f"{name}: no checksum of {own.path} is published; recorded: sha256 {own.sha256}"
                )

    def _download(self, name: str, dataset: Dataset, file: RemoteFile, incoming: Path) -> Path:
        """Let pooch fetch a file and compare its checksum."""
        mirror = self.mirror or ""
        address = without_login(_source(name, dataset, file, self.mirror))
        pooch.get_logger().setLevel("ERROR")
        files = pooch.create(
            incoming,
            base_url="",
            # Without a checksum pooch takes what comes.
            registry={file.name: file.sha256},
            urls={file.name: address},
            retry_if_failed=RETRIES,
        )
        with bar(file.name, file.size_bytes) as advance:
            if urlsplit(address).scheme in {"http", "https"}:
                login = get_auth_from_url(mirror)
                downloader: pooch.typing.Downloader = pooch.HTTPDownloader(
                    _Bar(advance),
                    CHUNK_BYTES,
                    timeout=TIMEOUT_S,
                    auth=login if any(login) else None,
                    # The bar counts the file's own bytes.
                    headers={"Accept-Encoding": "identity", "User-Agent": "pyscale"},
                )
            else:
                downloader = _copy_from_folder
            try:
                return Path(files.fetch(file.name, downloader=downloader))
            except requests.RequestException as error:
                reason = _reason(error)
                raise UserError(
                    f"{address} cannot be fetched ({reason}): check the network and run the same "
                    "command again, or name a --mirror"
                ) from error
            except ValueError as error:
                raise UserError(
                    f"{address} does not match the checksum {file.sha256}: the download was "
                    "removed; open the address in a browser to see what the site sends, or fetch "
                    "from a --mirror that has the original"
                ) from error


def _begins(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(1)


class _Bar:
    """What pooch asks of a progress bar."""

    def __init__(self, advance: Advance) -> None:
        self.total = 0
        self._advance, self._shown = advance, 0

    def update(self, n_bytes: int) -> None:
        self._advance(n_bytes)
        self._shown += n_bytes

    def reset(self) -> None:
        self.update(-self._shown)

    def close(self) -> None:
        """The report ends its bar itself."""


def _copy_from_folder(address: str, target: str, _files: pooch.Pooch) -> None:
    """Do for a mirror that is a folder what pooch's downloader does for a server."""
    place = unquote(urlsplit(address).path) if address.startswith("file://") else address
    source = Path(place).expanduser()
    if not source.is_file():
        raise UserError(
            f"the mirror has no file {source}: put it there, or leave out --mirror to fetch from "
            "the source"
        )
    shutil.copyfile(source, target)


def _source(name: str, dataset: Dataset, file: RemoteFile, mirror: str | None) -> str:
    if mirror is None:
        return dataset.address(file)
    file_name = quote(file.name) if "://" in mirror else file.name
    return f"{mirror.rstrip('/')}/{name}/{file_name}"


def _reason(error: requests.RequestException) -> str:
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"the server answered {error.response.status_code} {error.response.reason}"
    reasons = (
        (requests.Timeout, f"no answer within {TIMEOUT_S:g} s"),
        (requests.exceptions.SSLError, "its certificate is not trusted"),
        (requests.exceptions.ChunkedEncodingError, "the connection broke off"),
        (requests.ConnectionError, "the server is unreachable"),
    )
    return next((words for kind, words in reasons if isinstance(error, kind)), str(error))


def _sole_fetcher(name: str, data_root: Path) -> AbstractContextManager[None]:
    """Let one process at a time fetch a dataset."""
    data_root.mkdir(parents=True, exist_ok=True)
    waits = f"{name}: waiting for another pyscale that is fetching or making it"
    return claimed(data_root / f".{name}.lock", waits)


def _empty(incoming: Path) -> None:
    """Make a folder for what arrives, without what a killed process left in it."""
    shutil.rmtree(incoming, ignore_errors=True)
    incoming.mkdir(parents=True)


def _unpack(archive: Path, final: Path, staging: Path) -> None:
    """Unpack a zip archive, which is the right one, into a folder that appears whole or not."""
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(staging)
    # A folder cannot take the name of one that holds files.
    if final.exists():
        final.rename(staging.with_name("replaced"))
    staging.rename(final)


def _ask_for_consent(name: str, dataset: Dataset) -> None:
    """Show the terms of a dataset and ask for consent to them."""
    if not sys.stdin.isatty():
        raise UserError(
            f"the terms of {name} need your consent: read them at {dataset.licence_url}, then "
            "add --accept-terms to the same command"
        )
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(f"{name}: {dataset.terms} See {dataset.licence_url}", markup=False)
    if not Confirm.ask("Do you accept these terms?", console=console, default=False):
        raise UserError(f"{name} was not fetched: its terms were not accepted")


def _say_terms(name: str, dataset: Dataset) -> None:
    talk(f"{name}: {dataset.title}. Licence: {dataset.licence} ({dataset.licence_url})")
    if dataset.terms:
        talk(f"{name}: {dataset.terms}")
    doi = f" https://doi.org/{dataset.doi}" if dataset.doi else ""
    talk(f"{name}: cite {dataset.citation}.{doi}")
