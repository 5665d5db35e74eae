"""Bringing of whole datasets: every file fetched or made, checked and in place, or none half."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pooch
from filelock import SoftFileLock
from pydantic import Field
from requests.utils import get_auth_from_url

from pyscale.data.archives import unpack
from pyscale.data.download import Patience, Transfer, Watch, discard, download
from pyscale.data.progress import Report
from pyscale.data.registry import Dataset, Registry, RemoteFile
from pyscale.data.synthetic import make_known
from pyscale.data.verify import (
    add_trust,
    data_errors_explained,
    dataset_path,
    expected_sha256,
    file_states,
    presence,
    read_trust,
    require_space,
    survey,
    synthetic_kinds,
    write_contents,
)
from pyscale.errors import UserError
from pyscale.filelocks import claimed, file_lock
from pyscale.settings import without_login
from pyscale_stages.contract import Record
from pyscale_stages.hashing import sha256_of
from pyscale_stages.wording import did_you_mean

INCOMING = ".incoming"
"""Folder inside a dataset's folder for what is not yet whole and checked."""
PERIOD_S = 0.5
"""How late a Ctrl-C is heard at worst."""

Consent = Callable[[str, Dataset], None]
"""Asks the user to accept a dataset's terms; raises UserError where he does not."""


class FetchOptions(Record):
    """How to fetch."""

    mirror: str | None = Field(
        None, description="Address or folder to fetch {mirror}/{dataset}/{file} from"
    )
    parallel: int = Field(4, ge=1, description="Files that are fetched at once")
    trust_first_download: bool = Field(
        False, description="Accept a file without published checksum, and hold it to its first"
    )
    patience: Patience = Patience()


@dataclass(frozen=True)
class Fetcher:
    """Brings datasets into a data folder."""

    registry: Registry
    data_root: Path
    options: FetchOptions
    consent: Consent | None
    """Asked for each dataset whose terms want it; None where they are accepted."""
    report: Report

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

        Files appear under their names when they are whole and their checksum is right. What a
        broken download brought stays in a part, from which the next call goes on. A synthetic
        dataset is made instead, without a network; one that is made from another's image brings
        that too.
        """
        dataset, say = self.registry.get(name), self.report.say
        if dataset.drifted is not None:
            self.fetch(dataset.drifted.source)
        if self.consent and dataset.consent and presence(name, dataset, self.data_root) != "here":
            self.consent(name, dataset)
        folder = self.data_root / name
        with (
            data_errors_explained(self.data_root),
            _sole_fetcher(name, self.data_root, self.report),
        ):
            if dataset.made is not None:
                make_known(name, dataset.made, self.data_root, self.report)
                return folder / dataset.movie
            wanted = _wanted(name, dataset, self.data_root, self.options, self.report)
            if wanted:
                _say_terms(name, dataset, self.report)
                _clean(folder / INCOMING)
                parts = [one.part for one in wanted]
                arrived = sum(part.stat().st_size for part in parts if part.exists())
                size_bytes = sum(one.file.size_bytes or 0 for one in wanted)
                require_space(folder, size_bytes - arrived, "the download")
                _fetch_all(wanted, self.options.parallel, self.report)
                say(f"{name}: fetched {len(wanted)} of {len(dataset.files)} files to {folder}")
            else:
                say(f"{name}: all {len(dataset.files)} files are in {folder} and unchanged")
            shutil.rmtree(folder / INCOMING, ignore_errors=True)
        movie = folder / dataset.movie
        if not movie.exists():
            raise UserError(
                f"{name} was fetched but lacks {movie}, the movie that the registry names: report "
                "this error"
            )
        return movie


def _wanted(
    name: str, dataset: Dataset, data_root: Path, options: FetchOptions, report: Report
) -> list[Transfer]:
    """The files that are absent or not what they must be."""
    trust = read_trust(data_root)
    wanted = []
    login = get_auth_from_url(options.mirror or "")
    with report.bar(f"check {name}", dataset.size_bytes) as advance:
        for file in dataset.files:
            states = file_states(data_root / name, dataset, file, trust, advance)
            if all(state.state == "ok" for state in states):
                continue
            sha256 = expected_sha256(dataset, file, trust)
            if sha256 is None and not options.trust_first_download:
                raise UserError(
                    f"{file.name} of {name} has no published checksum: add "
                    "--trust-first-download to accept this download and hold later ones to it"
                )
            wanted.append(
                Transfer(
                    file=file,
                    address=without_login(_source(name, dataset, file, options.mirror)),
                    origin=dataset.address(file),
                    part=data_root / name / INCOMING / f"{file.name}.part",
                    sha256=sha256,
                    patience=options.patience,
                    login=login if any(login) else None,
                )
            )
            if any(state.state == "changed" for state in states):
                report.say(f"{name}: {file.local_name} has changed and is replaced")
    return wanted


def _source(name: str, dataset: Dataset, file: RemoteFile, mirror: str | None) -> str:
    if mirror is None:
        return dataset.address(file)
    file_name = quote(file.name) if "://" in mirror else file.name
    return f"{mirror.rstrip('/')}/{name}/{file_name}"


def _fetch_all(wanted: Sequence[Transfer], parallel: int, report: Report) -> None:
    stop = threading.Event()
    with ThreadPoolExecutor(parallel) as pool:
        try:
            running = {pool.submit(_fetch_one, one, stop, report) for one in wanted}
            while running:
                # A Ctrl-C that another thread was given is heard at the end of a period.
                done, running = wait(running, PERIOD_S, FIRST_COMPLETED)
                for one in done:
                    one.result()
        except BaseException as error:
            # Threads hear of an error or of Ctrl-C by this alone, and keep their parts.
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):
                report.say("stopped: run the same command again to go on from what has arrived")
            raise


def _fetch_one(wanted: Transfer, stop: threading.Event, report: Report) -> None:
    """Bring one file, prove it, and put it in its place."""
    arrived = _download_checked(wanted, stop, report)
    file, folder, sha256 = wanted.file, wanted.part.parents[1], wanted.sha256
    if sha256 is None:
        sha256 = sha256_of(arrived)
        add_trust(folder.parent, wanted.origin, sha256)
        report.say(f"{file.name}: sha256 {sha256} is trusted from now on")
    final = folder / file.local_name
    if file.unpack is None or file.unpacked_limit_bytes is None:
        arrived.replace(final)
        return
    staging = wanted.part.parent / f"{file.local_name}.unpacking"
    unpack(arrived, file.unpack, final, staging, file.unpacked_limit_bytes)
    with report.bar(f"check {file.local_name}", None) as advance:
        write_contents(final, survey(final, advance, origin_sha256=sha256))
    arrived.unlink()


def _download_checked(wanted: Transfer, stop: threading.Event, report: Report) -> Path:
    """Let pooch fetch the file: it downloads by our function and compares the checksum."""
    pooch.get_logger().setLevel("ERROR")
    name, part, address = wanted.file.name, wanted.part, wanted.address

    def into_part_then(_source: str, output: str, _: pooch.Pooch) -> None:
        with report.bar(name, wanted.file.size_bytes) as advance:
            download(wanted, Watch(advance, stop))
        part.replace(output)
        discard(part)

    try:
        fetched = pooch.retrieve(
            address, wanted.sha256, name, part.parent, downloader=into_part_then
        )
    except ValueError as error:
        raise UserError(
            f"{address} does not match the checksum {wanted.sha256}: the download was removed; "
            "fetch again, or from a --mirror that has the original"
        ) from error
    return Path(fetched)


def _sole_fetcher(name: str, data_root: Path, report: Report) -> AbstractContextManager[None]:
    """Let one process at a time fetch a dataset."""
    data_root.mkdir(parents=True, exist_ok=True)
    lock = file_lock(data_root / f".{name}.lock")

    def waiting() -> None:
        report.say(f"{name}: waiting for another pyscale that is fetching or making it")
        if isinstance(lock, SoftFileLock):
            # Of a process on another node nothing can be told.
            report.say(f"{name}: if no other pyscale runs, delete {lock.lock_file}")

    return claimed(lock, waiting)


def _clean(incoming: Path) -> None:
    """Remove what a killed process left, except the parts."""
    # No link is followed: others may write into a data folder that is shared.
    if incoming.is_symlink():
        incoming.unlink()
    incoming.mkdir(parents=True, exist_ok=True)
    for left in incoming.iterdir():
        if left.is_symlink():
            left.unlink()
        elif left.is_dir():
            shutil.rmtree(left)
        elif not left.name.endswith((".part", ".part.json")):
            left.unlink()


def _say_terms(name: str, dataset: Dataset, report: Report) -> None:
    report.say(f"{name}: {dataset.title}. Licence: {dataset.licence} ({dataset.licence_url})")
    if dataset.terms:
        report.say(f"{name}: {dataset.terms}")
    doi = f" https://doi.org/{dataset.doi}" if dataset.doi else ""
    report.say(f"{name}: cite {dataset.citation}.{doi}")
