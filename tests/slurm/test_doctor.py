"""`pyscale doctor` on a real cluster: what Slurm offers, and what it would refuse."""

import pytest

from commandline import answer_of
from pyscale.doctor.command import Diagnosis

SITE = """\
name = "mine"
summary = "a test"

[request]
partition = "gpu"
memory_gib = {memory_gib}
time_min = 5
"""


@pytest.fixture
def doctor(slurm, tmp_path, monkeypatch, capsys):
    """Run it for a site; return its exit code and, by their checks, its findings."""
    del slurm
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "labels.tif"
    data.write_bytes(b"frames")
    monkeypatch.setenv("PYSCALE_DATA", str(data))
    monkeypatch.setenv("PYSCALE_DATA_FOLDER", str(tmp_path))

    def run(memory_gib, *words):
        (tmp_path / "mine.toml").write_text(SITE.format(memory_gib=memory_gib))
        where = ("--suite", "labels", "--site", "mine.toml", "--json")
        answer = answer_of(capsys, "pyscale", "doctor", *where, *words)
        found = Diagnosis.model_validate_json(answer.out)
        return answer.code, {finding.check: finding for finding in found.findings}

    return run


def test_what_slurm_offers_and_what_it_would_refuse(doctor):
    code, found = doctor(4000)
    assert code == 1
    assert found["slurm.accounting"].status == "ok"
    assert "1 of 1 node of gpu take jobs" in found["slurm.partition.gpu"].sentence
    refused = found["slurm.submission.contact"]
    assert refused.status == "problem"
    assert "for its memory" in refused.sentence
