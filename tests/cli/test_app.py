"""How the command line ends where its own installation is not whole."""

import pytest

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


def test_a_module_of_pyscale_that_is_absent_is_a_defect_and_no_sentence(pyscale, without):
    without("pyscale.nowhere")
    with pytest.raises(ModuleNotFoundError):
        pyscale("config", "show")
