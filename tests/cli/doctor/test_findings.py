"""A finding in the words of an error: what is wrong, apart from what to do."""

import pytest

from pyscale.doctor.findings import refused


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
    found = refused("slurm.commands", error)
    assert (found.sentence, found.remedy) == (sentence, remedy)
