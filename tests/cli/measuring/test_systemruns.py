"""Runs that measured nothing but the machine: compared, put side by side, kept as a reference."""

import csv
import json
from pathlib import Path

import pytest

from mockruns import alone, carried_out, tell_samples
from pyscale.planning.suite import load_suite
from pyscale.references.fromrun import reference_from
from pyscale_stages.timing import Timing
from refusals import assert_refused


@pytest.fixture
def measured(make_of, tmp_path):
    """Pretend that six processes read storage cold, and could not read it past the cache."""

    def measured(slower=1.0, repeats=6, also=()):
        suite = alone(load_suite("system"), "storage")
        run = carried_out(make_of(suite, dataset=None, cache="asis", repeats=repeats), tmp_path)
        direct = "particle_random_read_direct"
        refused = Timing(test=direct, repeat=0, wall_s=None, why_not="it refuses")
        versions = {"place_filesystem": "ext4"}
        for number, trial in enumerate(run.plan.trials):
            found = (_read(number, slower), refused, *also)
            tell_samples(run, trial.id, "w0", *found, versions=versions)
        return run

    return measured


def _read(number, slower):
    return Timing(
        test="particle_random_read_cold",
        repeat=0,
        wall_s=slower * (1 + number / 100),
        amount=1e6,
        unit="B",
        bottleneck="storage",
        cache="verified-cold",
    )


@pytest.fixture
def said(pyscale, monkeypatch):
    monkeypatch.setattr("pyscale.report.write.write_figures", lambda *_, **_widths: [])
    return pyscale


def test_a_test_that_takes_longer_is_a_regression(measured, said):
    base = measured()
    answer = said("compare", base, measured(1.5), "--fail-on", "regression")
    assert answer.code == 1
    assert "worse" in answer.text
    assert "not applicable: it refuses" in answer.text
    assert "regression: storage particle_random_read_cold" in answer.err
    found = json.loads(said("compare", base, measured(), "--json").out)
    verdicts = {row["test"]: row["verdict"] for row in found["judged"]}
    assert verdicts == {"particle_random_read_cold": "same", "particle_random_read_direct": None}
    few = said("compare", base, measured(2.0, repeats=3))
    assert few.code == 0
    assert "not enough data" in few.text


@pytest.mark.slow
def test_they_stand_side_by_side(measured, said, tmp_path):
    out = tmp_path / "out"
    said("report", measured(), measured(2.0), "--out", out)
    with (out / "comparison_tests.csv").open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    cold = [row for row in rows if row["test"] == "particle_random_read_cold"]
    assert [row["side"] for row in cold] == ["A", "B"]
    assert float(cold[1]["speedup"]) == pytest.approx(0.5)
    assert cold[1]["verdict"] == "worse"
    assert "measured folder: filesystem" in (out / "comparison.html").read_text()


def test_a_reference_has_every_process_and_none_of_what_cannot_run(
    measured, said, tmp_path, monkeypatch
):
    run = measured()
    made = reference_from(run, "ours")
    assert made.table["wall_s"].to_list() == pytest.approx([1, 1.01, 1.02, 1.03, 1.04, 1.05])
    assert made.reference.stages == {"storage": "storage"}
    assert set(made.reference.size_ids) == {"storage"}
    assert made.reference.hardware["measured filesystem"] == "ext4"
    assert "Not measured there: particle_random_read_direct." in made.reference.caveats
    found = made.tests()
    assert found is not None
    assert found["repeats"].to_list() == [6]
    monkeypatch.setenv("PYSCALE_REFERENCES_FOLDER", str(tmp_path / "references"))
    said("reference", "add", run, "--name", "ours")
    assert "particle_random_read_cold" in said("reference", "show", "ours").text
    assert str(tmp_path) not in (tmp_path / "references" / "ours.toml").read_text()


def test_what_one_device_refuses_and_another_does_is_not_called_unmeasured(measured):
    done = Timing(test="particle_random_read_direct", device="A100", repeat=0, wall_s=1.0)
    made = reference_from(measured(also=(done,)), "ours").reference
    assert not [said for said in made.caveats if said.startswith("Not measured there")]


def test_files_in_another_shape(measured, run, said, tmp_path):
    answer = said("report", measured(), "--format", "cryosparc-like", "--out", tmp_path / "like")
    (name,) = (line for line in answer.out.splitlines() if line.endswith("fs_benchmark_data.json"))
    found = json.loads(Path(name).read_text())
    assert found["timings"]["particle_random_read_time"] == pytest.approx(1.025)
    assert found["test_info"]["software"] == "pyscale"
    assert Path(name).with_suffix(".csv").exists()
    # A run without tests has none of these files.
    answer = said("report", run, "--format", "cryosparc-like")
    assert_refused(answer)
