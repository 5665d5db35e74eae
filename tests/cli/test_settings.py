"""Settings come in layers, and each tells where it comes from."""

import os
from pathlib import Path

import pytest

from atleastone import some
from pyscale.errors import UserError
from pyscale.settings import Settings, load_settings, value_origins
from refusals import refused


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("PYSCALE_")]:
        monkeypatch.delenv(variable)


def user_file(text):
    Path("pyscale.toml").write_text(text)


def test_a_flag_wins_over_the_environment_over_the_users_file_over_the_defaults(monkeypatch):
    assert value_origins({})["repeats"] == "defaults.toml of pyscale"
    assert "seed" not in value_origins({})
    user_file("repeats = 3\nworkers = [1, 3]")
    assert load_settings().repeats == 3
    assert value_origins({})["repeats"] == "pyscale.toml"
    monkeypatch.setenv("PYSCALE_REPEATS", "4")
    monkeypatch.setenv("PYSCALE_WORKERS", "1,2")
    settings = load_settings()
    assert (settings.repeats, settings.workers) == (4, (1, 2))
    assert value_origins({})["repeats"] == "PYSCALE_REPEATS"
    # In rising order, and a flag that was not given says nothing.
    flagged = load_settings(repeats=5, cache=None, workers="4,1,2")
    assert (flagged.repeats, flagged.workers) == (5, (1, 2, 4))
    assert value_origins({"cpus_per_worker": 5})["cpus_per_worker"] == "--cpus-per-worker"


def test_the_built_in_values_are_those_of_the_committed_defaults():
    for key in some(value_origins({})):
        assert Settings.model_fields[key].default == getattr(load_settings(), key)


def test_prices_of_this_machine_come_in_layers_too(monkeypatch):
    user_file('[prices]\ncore_hour = 0.01\ncurrency = "EUR"')
    monkeypatch.setenv("PYSCALE_PRICES__CORE_HOUR", "0.02")
    prices = load_settings().prices
    assert (prices.core_hour, prices.gpu_hour, prices.currency) == (0.02, None, "EUR")


@pytest.mark.parametrize(
    "text",
    [
        "repeets = 3",
        "repeats = 'six'",
        "cache = 'hot'",
        "workers = [0, 1]",
        "workers = '1;2'",
        "repeats = ",
        "[prices]\ncore_hour = 0.01",
        "repeats = " + "[" * 20_000,
    ],
)
def test_a_wrong_setting_is_one_sentence_with_its_place(text):
    user_file(text)
    with refused(UserError) as refusal:
        load_settings()
    assert "\n" not in str(refusal.value)


def test_a_wrong_variable_is_named(monkeypatch):
    monkeypatch.setenv("PYSCALE_RETRIES", "many")
    with refused(UserError):
        load_settings()


@pytest.mark.parametrize(
    ("mirror", "written"),
    [
        ("https://ada:p%40ss@mirror.example/a@b", "https://mirror.example/a@b"),
        ("https://token@mirror.example:8443/x", "https://mirror.example:8443/x"),
        ("https://mirror.example/a", "https://mirror.example/a"),
        ("/data/ada@lab", "/data/ada@lab"),
    ],
)
def test_the_password_of_a_mirror_is_used_and_never_written(mirror, written):
    settings = Settings(mirror=mirror)
    assert settings.mirror == mirror
    assert settings.model_dump(mode="json")["mirror"] == written
    assert settings.model_dump()["mirror"] == written
