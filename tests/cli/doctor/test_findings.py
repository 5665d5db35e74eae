"""Findings are read on a terminal, in a pipe and without colour; those of errors are parted."""

import pytest

from asread import printed
from pyscale.doctor import findings

FINE = findings.ok("cpu.usable", "2 of 2 CPUs are usable")
SLOW = findings.warning("system.load", "the load was 9", "measure on a quiet node")
BROKEN = findings.problem(
    "stage.track.libraries", "laptrack is absent", "pip install laptrack==0.17.0"
)
OTHER = findings.beside_the_point("gpu.device", "no GPU is asked for", "ask for --device cuda")


def test_findings_are_read_in_groups_with_what_to_do_below_what_is_not_well():
    text = printed(findings.findings_table([SLOW, FINE, BROKEN, OTHER], "labels"))
    for sign in ("✓ ok", "! warning", "✗ problem", "- n/a"):
        assert sign in text
    assert "\x1b" not in text
    assert text.index("Stages") < text.index("Cores and threads") < text.index("System")
    text = printed(findings.findings_table([BROKEN], "labels"))
    assert text.index("laptrack is absent") < text.index("→ pip install laptrack==0.17.0")
    assert text.count("→") == 1
    # A narrow terminal loses no word.
    text = printed(findings.findings_table([BROKEN], "labels"), width=50)
    assert "".join(text.split()).count("laptrackisabsent") == 1


def test_no_colour_is_left_where_none_is_wanted():
    table = findings.findings_table([BROKEN], "labels")
    assert "31m" in printed(table, force_terminal=True, color_system="standard")
    assert "31m" not in printed(table, force_terminal=True, no_color=True, color_system="standard")


def test_the_verdict_counts_what_is_not_well():
    assert findings.verdict([FINE, OTHER]) == "no problem found"
    assert findings.verdict([FINE, SLOW]) == "no problem, 1 warning"
    assert findings.verdict([BROKEN, SLOW, SLOW]) == "1 problem and 2 warnings"
    assert findings.verdict_line([FINE, BROKEN]).plain == "Verdict: 1 problem and 0 warnings"


@pytest.mark.parametrize(
    ("error", "sentence", "remedy"),
    [
        ("no GPU is visible: use --device cpu", "no GPU is visible", "use --device cpu"),
        (
            "site a.toml: it has no gpus: add gpus = 4",
            "site a.toml: it has no gpus",
            "add gpus = 4",
        ),
        ("it cannot be asked (sinfo: error: no such file)",) * 2 + ("",),
        (
            "the daemon said 'fatal: gone', and ended: start it again (see `help: start`)",
            "the daemon said 'fatal: gone', and ended",
            "start it again (see `help: start`)",
        ),
        (
            "it failed (a (b: c) d: e): take the site's other file",
            "it failed (a (b: c) d: e)",
            "take the site's other file",
        ),
        ("nothing is there", "nothing is there", ""),
    ],
)
def test_it_is_parted_at_no_colon_of_what_it_quotes(error, sentence, remedy):
    found = findings.refused("slurm.commands", error)
    assert (found.sentence, found.remedy) == (sentence, remedy)
