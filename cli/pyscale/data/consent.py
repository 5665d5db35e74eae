"""Consent to a dataset's terms: given by a flag, or asked for on a terminal."""

from __future__ import annotations

import sys

from rich.prompt import Confirm

from pyscale.console import Console
from pyscale.data.registry import Dataset
from pyscale.errors import UserError


def given(name: str, dataset: Dataset) -> None:
    """Take the consent that a flag gave."""


def asked(name: str, dataset: Dataset) -> None:
    """Show the terms and ask."""
    if not sys.stdin.isatty():
        raise UserError(
            f"the terms of {name} need your consent: read them at {dataset.licence_url}, then "
            "add --accept-terms to the same command"
        )
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(f"{name}: {dataset.terms} See {dataset.licence_url}", markup=False)
    if not Confirm.ask("Do you accept these terms?", console=console, default=False):
        raise UserError(f"{name} was not fetched: its terms were not accepted")
