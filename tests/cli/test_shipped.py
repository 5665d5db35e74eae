import pytest

from pyscale import shipped as module
from pyscale.errors import UserError
from pyscale.shipped import shipped


@pytest.mark.parametrize("name", ["config", "sbatch_templates", "containers"])
def test_a_checkout_has_the_folder(name):
    assert shipped(name).is_dir()


def test_a_wheel_carries_the_folder_inside_the_package(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "pyscale"
    (package / "resources" / "config").mkdir(parents=True)
    monkeypatch.setattr(module, "_PACKAGE", package)
    assert shipped("config") == package / "resources" / "config"


def test_an_installation_that_lost_the_folder_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_PACKAGE", tmp_path)
    monkeypatch.setattr(module, "_CHECKOUT", tmp_path)
    with pytest.raises(UserError, match="config is missing.*install pyscale again"):
        shipped("config")
