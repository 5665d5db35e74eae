"""What README, the pages of docs/ and the citation say is there."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer

from pyscale.analysis.flags import FLAGS
from pyscale.app import app
from pyscale.planning.suite import suite_names
from pyscale.traces.sacct import COMMAND

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
TOP = typer.main.get_command(app)
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]


def words_of(page):
    return (ROOT / "docs" / page).read_text()


def commands(text):
    """Every command line of ours, in a block or in a line of text."""
    shown = re.findall(r"^\s*\$ (?:[A-Z_]+=\S+ )*(pyscale [^\n]*)", text, re.MULTILINE)
    for line in [*shown, *re.findall(r"`(pyscale [^`\n]*)`", text)]:
        yield shlex.split(line.replace("\\|", "|"), comments=True)


def unknown(words):
    """Subcommands and options of a command line that pyscale does not have."""
    command = TOP
    rest = words[1:]
    while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
        name, *rest = rest
        if name == "COMMAND":
            return []
        if name not in command.commands:
            return [name]
        command = command.commands[name]
    options = {option for one in command.params for option in one.opts} | {"--help"}
    return [word for word in rest if word.startswith("--") and word not in options]


def test_the_readme_is_short():
    assert len(README.read_text().splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_links_to_what_is_there(page):
    """The site's build looks at docs/ alone, and at headings too."""
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_commands_and_options_that_there_are(page):
    found = {shlex.join(line): unknown(line) for line in commands(page.read_text())}
    assert {line: wrong for line, wrong in found.items() if wrong} == {}


def test_the_page_of_commands_names_all_of_them():
    paths = [
        f"pyscale {name} {under}" if under else f"pyscale {name}"
        for name, command in TOP.commands.items()
        for under in getattr(command, "commands", [""])
    ]
    text = words_of("commands.md")
    assert [path for path in paths if f"`{path}" not in text] == []


def test_the_page_of_commands_names_every_suite():
    text = words_of("commands.md")
    assert [name for name in suite_names() if f"`{name}`" not in text] == []


def test_the_glossary_is_the_list_of_flags():
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", words_of("glossary.md"), re.MULTILINE)
    assert rows == [(code, flag.sentence) for code, flag in FLAGS.items()]


def test_the_line_for_sacct_asks_for_all_that_is_read():
    assert f"$ {COMMAND} " in words_of("advise.md")


def test_the_citation_is_of_this_version_and_licence():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    fields = dict(
        re.findall(r"^(version|license): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    )
    assert fields == {"version": project["version"], "license": project["license"]}
