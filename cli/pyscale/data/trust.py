"""The user's trust: checksums of files that nobody published one for, as first seen."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, ValidationError

from pyscale.data.registry import Sha256
from pyscale.errors import UserError
from pyscale.filelocks import file_lock
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.wording import first_problem

TRUST_FILE = "trusted.json"


class Trust(Record):
    """Checksums that the user accepted, by the address of the file at its source."""

    sha256: dict[str, Sha256] = Field(default_factory=dict)


def read_trust(data_root: Path) -> Trust:
    """Read the trust file of a data folder; an absent file trusts nothing.

    Raises
    ------
    UserError
        If the file is damaged: what it recorded must not be forgotten unseen.
    """
    path = data_root / TRUST_FILE
    try:
        return Trust.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Trust()
    except ValidationError as error:
        raise UserError(
            f"{path} is damaged ({first_problem(error, Trust)}): restore it, or remove it "
            "and fetch with --trust-first-download again"
        ) from error


def add_trust(data_root: Path, address: str, sha256: str) -> None:
    """Record what was first seen at an address, beside what others record meanwhile."""
    with file_lock(data_root / f".{TRUST_FILE}.lock"):
        known = read_trust(data_root).sha256
        trust = Trust(sha256={**known, address: sha256})
        write_atomically(data_root / TRUST_FILE, trust.model_dump_json(indent=2) + "\n")
