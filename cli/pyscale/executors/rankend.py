"""The launcher's word to the other ranks of a trial on how one of them ended; nothing heavy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyscale.errors import last_line
from pyscale.interruption import killed_by, signal_name
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.ranks.rank_failure import tell_end


def tell_other_ranks(
    task: Path, order: dict[str, Any], returncode: int | None, cause: dict[str, Any] | None
) -> None:
    """Write how a task ended beside its meeting, if it has one and did not end well."""
    # An order that an earlier pyscale wrote has no such key.
    if order.get("meeting") is not None and returncode != 0:
        sentence = cause["message"] if cause else _how(task, order, returncode)
        tell_end(Path(order["meeting"]), f"rank {order['rank']} ended ({sentence})")


def _how(task: Path, order: dict[str, Any], returncode: int | None) -> str:
    process = f"its process on {node_name()}"
    if returncode is None:
        return f"{process} vanished without a message"
    killer = killed_by(returncode, in_container=bool(order["container"]))
    if killer is not None:
        return f"{process} was killed by {signal_name(killer)}"
    said = last_line(task / "stderr").removeprefix("error: ")
    return said or f"{process} ended with exit code {returncode} and no message"
