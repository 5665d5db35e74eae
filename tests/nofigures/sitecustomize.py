"""Python runs it at its start: pyscale finds this in place of what draws its figures."""

import sys
import types

if "pyscale" in sys.orig_argv:
    instead = types.ModuleType("pyscale.report.figures.writing")
    instead.save = instead.write_figures = instead.write_all_figures = lambda *_, **__: []
    sys.modules[instead.__name__] = instead
