"""The likely bottleneck of a configuration in a word, and what says so."""

from __future__ import annotations

from collections.abc import Mapping

from pyscale.analysis.causes import Limits
from pyscale.report import limits
from pyscale.report.viewer.model import Tag
from pyscale.report.wording import percent, phase

START_UP = ("start-up", "it depends on how fast programs and weights are found and prepared")
DEPENDS = {
    "compute": ("cores", "it depends on the speed of the cores and of memory"),
    "container_start": START_UP,
    "python_start": START_UP,
    "import": START_UP,
    "model_load": START_UP,
    "read": ("reading", "it depends on the storage of the input, and on whether it was cached"),
    "write": ("writing", "it depends on the storage of the output"),
    "merge": ("merging", "it depends on one worker, which joins what all have written"),
    "idle": ("imbalance", "it depends on how evenly the work is shared"),
    "unattributed": ("unattributed", "no phase covers it"),
}
"""Tag of each part that may be the largest, and what its time depends on."""
ON_GPU = ("GPU", "it depends on the GPU, and on the cores for what is not computed there")


def tag(
    found: Limits | None, parts: Mapping[str, float], workers: int, device: str | None
) -> Tag | None:
    """Name what most likely limits a configuration.

    Beyond the baseline that is the main cause of lost efficiency, as surely as it is known;
    else the largest part of its time.
    """
    known = {part: seconds for part, seconds in parts.items() if part in DEPENDS}
    sentences = list(limits.sentences(found)) if found is not None else []
    if found is not None and found.main is not None:
        return Tag(text=_cause(found), why=" ".join(sentences))
    if not any(known.values()):
        return None
    largest = max(known, key=known.__getitem__)
    text, depends = DEPENDS[largest]
    if largest == "compute" and device not in {None, "cpu"}:
        text, depends = ON_GPU
    share = percent(known[largest] / sum(parts.values()))
    whole = (
        f"The largest part of the time at N = {workers} is {phase(largest)} ({share}): {depends}."
    )
    return Tag(text=text, why=" ".join([*sentences, whole]))


def _cause(found: Limits) -> str:
    """Name the main cause, as surely as it is the first."""
    assert found.main is not None
    name = _name(found.main.code)
    if found.sureness == "undecided":
        rival = max(found.causes[1:], key=lambda cause: cause.share_first or 0.0)
        return f"{name} or {_name(rival.code)}"
    return {"sure": name, "likely": f"probably {name}"}.get(found.sureness or "", f"{name}?")


def _name(code: str) -> str:
    """Name a cause as sentences do, without what they say of it in brackets."""
    return limits.NAMES[code].partition(" (")[0]
