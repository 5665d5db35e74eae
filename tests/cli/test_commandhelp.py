"""Help of the commands: short first lines, groups, choices, effective defaults, examples."""

import re
import shlex

import pytest
import typer
from typer.testing import CliRunner

from pyscale.app import app
from pyscale.settings import SET


def commands(group, *names):
    """Every command of a group and of those in it, by its words."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *names, name)
        else:
            yield " ".join((*names, name)), command


GROUP = typer.main.get_command(app)
COMMANDS = dict(commands(GROUP))


def help_of(*words):
    done = CliRunner().invoke(app, [*words, "--help"], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


@pytest.mark.parametrize("words", COMMANDS)
def test_a_help_begins_shortly_says_what_options_take_and_ends_with_lines_that_work(words):
    first = COMMANDS[words].help.splitlines()[0]
    assert len(first) <= 50
    assert first.endswith(".")
    said = help_of(*words.split())
    assert not re.search(r" (VALUE|TEXT|<\w+>)", said)
    *_, end = said.split("Example")
    lines = [line.strip() for line in end.splitlines() if line.startswith("  ")]
    assert lines
    for line in lines:
        program, *given = shlex.split(line)
        assert program == "pyscale"
        assert given[: len(words.split())] == words.split()
        rest = given[len(words.split()) :]
        COMMANDS[words].make_context(words, rest).close()


def test_a_setting_without_a_flag_is_named_where_it_can_be_set():
    said = " ".join(help_of("run").split())
    assert all(re.search(rf"\b{name}\b", said) for name in SET)
    flags = {flag for option in COMMANDS["run"].params for flag in option.opts}
    assert not flags & {f"--{name.replace('_', '-')}" for name in SET}


def test_choices_and_the_defaults_that_hold_here_are_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "--cache [cold|warm|asis]" in help_of("run")
    assert "before each trial. (default: cold)" in " ".join(help_of("run").split())
    (tmp_path / "pyscale.toml").write_text('cache = "warm"\nworkers = [1, 3]\n')
    said = " ".join(help_of("run").split())
    assert "before each trial. (default: warm)" in said
    assert "as in 1,2,4. (default: 1,3)" in said


def test_help_answers_where_the_settings_are_wrong(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyscale.toml").write_text('cache = "hot"\n')
    assert "--cache [cold|warm|asis]" in help_of("run")
