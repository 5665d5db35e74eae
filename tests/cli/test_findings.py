"""Findings of errors are parted in what is wrong and what to do."""

import pytest

from pyscale.findings import refused


@pytest.mark.parametrize(
    ("error", "what", "do"),
    [
        ("no GPU is visible: use --device cpu", "no GPU is visible", "use --device cpu"),
        ("it cannot be asked (sinfo: error: no such file)",) * 2 + ("",),
        (
            "the daemon said 'fatal: gone', and ended: start it again (see `help: start`)",
            "the daemon said 'fatal: gone', and ended",
            "start it again (see `help: start`)",
        ),
        ("it failed (a (b: c) d: e): take another", "it failed (a (b: c) d: e)", "take another"),
    ],
)
def test_an_error_is_parted_at_no_colon_of_what_it_quotes(error, what, do):
    found = refused("stage.works", "track", error)
    assert (found.status, found.where, found.what, found.do) == ("problem", "track", what, do)
    assert str(found) == f"track: {error}"
