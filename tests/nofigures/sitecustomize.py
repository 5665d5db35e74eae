"""Python runs it at its start: pyscale finds this in place of what draws figures and the page."""

import sys
import types


def _instead(name, **functions):
    sys.modules[name] = module = types.ModuleType(name)
    vars(module).update(functions)


def _nothing(*_, **__):
    return []


if "pyscale" in sys.orig_argv:
    _instead("pyscale.report.figures", **dict.fromkeys(("save", "write_figures"), _nothing))
    # Its charts take longer to import than a run of a small stage.
    _instead("pyscale.report.page.write", write_page=lambda folder, _: folder / "report.html")
