"""`pyscale doctor` on a real cluster: what Slurm offers."""

from commandline import answer_of
from pyscale.doctor.command import Diagnosis


def test_what_slurm_offers(slurm, tmp_path, monkeypatch, capsys):
    del slurm
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "labels.tif"
    data.write_bytes(b"frames")
    monkeypatch.setenv("PYSCALE_DATA", str(data))
    monkeypatch.setenv("PYSCALE_DATA_FOLDER", str(tmp_path))
    answer = answer_of(capsys, "pyscale", "doctor", "--suite", "labels", "--json")
    found = Diagnosis.model_validate_json(answer.out).findings
    of_slurm = {one.code: one.status for one in found if one.code.startswith("slurm.")}
    assert of_slurm == {"slurm.answers": "ok"}
