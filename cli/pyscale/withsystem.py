"""Brief tests of the node, beside a suite that measures something else on it."""

from __future__ import annotations

from pyscale.errors import UserError
from pyscale.gridhere import measured_suite
from pyscale.settings import Settings
from pyscale.sites import Site
from pyscale.suite import Suite, load_suite

BRIEF = "system_brief"
"""The suite whose entries are added."""


def with_system(suite: Suite, settings: Settings, site: Site | None) -> Suite:
    """Put the entries of the brief suite of the machine before those of a suite of another kind."""
    if suite.data == "place":
        return suite
    # Values that were chosen are those of the suite's own grid.
    brief = measured_suite(load_suite(BRIEF), settings.model_copy(update={"grid": {}}), site)
    twice = sorted(brief.stages.keys() & suite.stages.keys())
    if twice:
        raise UserError(
            f"the suite {suite.name} has an entry {twice[0]!r}, a name that --with-system also "
            "adds: rename the entry, or leave --with-system out"
        )
    return suite.model_copy(update={"stages": {**brief.stages, **suite.stages}})


def without_system(suite: Suite) -> Suite:
    """The suite to which `with_system` added its entries."""
    own = {entry: step for entry, step in suite.stages.items() if entry not in suite.measured_once}
    return suite.model_copy(update={"stages": own})
