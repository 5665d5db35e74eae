"""Files that ship with the stages are found in a wheel and in a checkout."""

from pyscale_stages import resources
from pyscale_stages.errors import MissingPart
from refusals import refused


def test_the_embedded_model_is_found_in_this_installation():
    assert resources.embedded_model("pyscale-tiny").name == "pyscale-tiny.pt"


def test_a_wheels_own_file_comes_first_and_an_absent_one_says_how_to_get_it(tmp_path, monkeypatch):
    folders = (tmp_path / "wheel", tmp_path / "checkout")
    for folder in folders:
        folder.mkdir()
        (folder / "net.pt").write_bytes(b"weights")
    monkeypatch.setattr(resources, "MODEL_FOLDERS", folders)
    for folder in folders:
        assert resources.embedded_model("net") == folder / "net.pt"
        (folder / "net.pt").unlink()
    with refused(MissingPart):
        resources.embedded_model("net")
