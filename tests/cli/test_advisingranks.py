"""`pyscale advise` of runs of ranks: what it names, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from commandline import answer_of
from madeupruns import loader_run, reconstruct_run

KINDS: dict[str, Callable[..., Path]] = {"loader": loader_run, "reconstruct": reconstruct_run}
NAMED = {
    "loader": [
        "Take: pool_size=8",
        "on 2 ranks",
        "DataLoader(dataset, batch_size=64, num_workers=2",
    ],
    "reconstruct": ["Request: 2 ranks", "Holds back: Gradient"],
}
TRUST = {"loader": "with care", "reconstruct": "yes"}
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_ranks_and_settings_are_named(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = KINDS[kind](tmp_path, "a1b2")
    answer = answer_of(capsys, "pyscale", "advise", run)
    assert answer.code == 0
    for words in NAMED[kind]:
        assert words in answer.text
    (found,) = json.loads(answer_of(capsys, "pyscale", "advise", run, "--json").out)["ranks"]
    assert found["answers"][0].startswith(NAMED[kind][0])
    assert found["trust"] == TRUST[kind]


@every_kind
@pytest.mark.parametrize("asked", [("--objective", "fastest"), ("--budget", "2.5")])
def test_an_objective_has_no_meaning_for_them(
    kind: str, asked: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = KINDS[kind](tmp_path, "a1b2", repeats=1)
    answer = answer_of(capsys, "pyscale", "advise", run, *asked)
    assert answer.code == 2
    assert "has one answer, not one for each objective" in " ".join(answer.err.split())
