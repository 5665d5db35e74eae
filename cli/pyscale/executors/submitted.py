"""submitit's own program, for a task that only starts another one.

Run as `python -m pyscale.executors.submitted FOLDER`.
"""

from __future__ import annotations

import sys

# submitit would import it for functions that compute: half of a launcher's time, on the cores that
# are measured. A module that is None is one that is not there.
sys.modules["numpy"] = None  # type: ignore[assignment]

from submitit.core.submission import submitit_main  # noqa: E402

if __name__ == "__main__":
    submitit_main()
