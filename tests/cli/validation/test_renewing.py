"""Expected results are renewed from a run; what people wrote of them stays."""

import tomllib

import pytest

import renew_validation
from mockexecutor import MockEnd
from mockruns import tell
from pyscale.errors import UserError
from pyscale.validation.judging import Expected, Installation, expected_file, load_expected
from refusals import refused
from renew_validation import renewed


@pytest.fixture(autouse=True)
def _installation(monkeypatch):
    """Pretended records tell of no machine."""
    here = Installation(machine="here", system="some", software="numpy 3")
    monkeypatch.setattr(renew_validation, "_installation", lambda _run: here)


def text(expected):
    """The shipped file, but of the small movie."""
    (movie,) = expected.inputs.values()
    (shipped,) = load_expected("validation").inputs.values()
    return expected_file("validation").read_text(encoding="utf-8").replace(shipped, movie)


def test_checksums_come_from_the_run_and_bounds_stay_with_their_reasons(
    plan, carried_out, expected
):
    run = carried_out(plan(repeats=1))
    outputs = [{"name": "labels.ome.tif", "size_bytes": 1, "sha256": "c" * 64}]
    tell(run, "segment-n1-b1", "w0", outputs=outputs)
    old = text(expected)
    told = Expected.model_validate(tomllib.loads(new := renewed(old, run)))
    assert told.stages["segment"].outputs == {"labels.ome.tif": "c" * 64}
    assert told.stages["segment"].at_least == expected.stages["segment"].at_least
    assert told.reference.software == "numpy 3"
    assert [line for line in new.splitlines() if "#" in line] == [
        line for line in old.splitlines() if "#" in line
    ]


def test_trials_that_differ_are_nothing_to_expect(plan, carried_out, expected):
    run = carried_out(plan())
    tell(run, "segment-n1-b2", "w0", outputs=[])
    with refused(UserError):
        renewed(text(expected), run)


def test_a_run_that_failed_is_refused_with_its_reason(plan, carried_out, expected):
    run = carried_out(
        plan(repeats=1), lambda trial, *_: MockEnd(returncode=2 if "track" in trial else 0)
    )
    with refused(UserError):
        renewed(text(expected), run)
