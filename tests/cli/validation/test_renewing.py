"""Expected results are renewed from a run; what people wrote of them stays."""

import pytest

import renew_validation
from mockexecutor import MockEnd
from mockruns import tell
from pyscale.errors import UserError
from pyscale.validation.expected import Installation, read_expected
from refusals import refused
from renew_validation import as_toml, renewed


@pytest.fixture(autouse=True)
def _installation(monkeypatch):
    """Pretended records tell of no machine."""
    here = Installation(machine="here", system="some", software="numpy 3")
    monkeypatch.setattr(renew_validation, "_installation", lambda _run: here)


def test_values_come_from_the_run_and_tolerances_stay(plan, carried_out, expected):
    run = carried_out(plan(repeats=1))
    tell(run, "segment-n1-b1", "check", quality={"ap_iou50": 0.75, "ctc_seg": 0.8})
    old, new = expected.stages["segment"], renewed(expected, run).stages["segment"]
    assert new.measures["ap_iou50"].value == 0.75
    assert new.measures["ap_iou50"].tolerance == old.measures["ap_iou50"].tolerance
    assert new.measures["ap_iou50"].because == old.measures["ap_iou50"].because
    assert (new.params, new.free, new.outputs) == (old.params, old.free, old.outputs)


def test_a_renewed_file_is_read_as_it_was_written(plan, carried_out, expected, tmp_path):
    found = renewed(expected, carried_out(plan(repeats=1)))
    path = tmp_path / "mine.toml"
    path.write_text(as_toml(found, "# What is expected."), encoding="utf-8")
    assert read_expected(path) == found
    assert path.read_text(encoding="utf-8").startswith("# What is expected.\n\n")


def test_trials_that_differ_are_nothing_to_expect(plan, carried_out, expected):
    run = carried_out(plan())
    tell(run, "segment-n1-b2", "w0", outputs=[])
    with refused(UserError):
        renewed(expected, run)


def test_a_run_that_failed_is_refused_with_its_reason(plan, carried_out, expected):
    run = carried_out(
        plan(repeats=1), lambda trial, *_: MockEnd(returncode=2 if "track" in trial else 0)
    )
    with refused(UserError):
        renewed(expected, run)
