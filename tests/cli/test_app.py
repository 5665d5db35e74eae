"""How the command line ends where its own installation is not whole."""

import json
import re

import pytest

from pyscale.settings import Settings
from refusals import assert_refused


@pytest.fixture
def without(monkeypatch):
    """Have a command miss a module."""

    def missing(name):
        def command(**_options):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        monkeypatch.setattr("pyscale.commands.listings.show_settings", command)

    return missing


def test_a_library_that_is_not_installed_is_named_in_a_sentence(pyscale, without):
    without("altair")
    answer = pyscale("config", "show")
    assert_refused(answer)


def test_the_file_of_settings_has_every_one_as_it_is_without_it_and_is_not_written_over(
    pyscale, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    before = json.loads(pyscale("config", "show", "--json").out)
    assert pyscale("config", "init").code == 0
    assert json.loads(pyscale("config", "show", "--json").out) == before
    file = tmp_path / "pyscale.toml"
    file.write_text(re.sub(r"^# (\[|\w+ = .)", r"\1", file.read_text(), flags=re.MULTILINE))
    after = json.loads(pyscale("config", "show", "--json").out)
    for name, field in Settings.model_fields.items():
        # Those that tests keep apart from the user's are variables, which are above the file.
        is_variable = before[name]["from"].startswith("PYSCALE_")
        if field.examples or field.default is None or is_variable:
            continue
        assert after[name] == {"value": before[name]["value"], "from": "pyscale.toml"}
    assert after["tolerance"]["value"] == {"segment": 0.99}
    assert_refused(pyscale("config", "init"))


def test_a_module_of_pyscale_that_is_absent_is_a_defect_and_no_sentence(pyscale, without):
    without("pyscale.nowhere")
    with pytest.raises(ModuleNotFoundError):
        pyscale("config", "show")
