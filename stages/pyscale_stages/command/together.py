"""The command of a rank, which ends where another rank ends badly."""

from __future__ import annotations

from pyscale_stages.command.heard import Heard
from pyscale_stages.command.process import Call, Running
from pyscale_stages.errors import StageError
from pyscale_stages.ranks.meeting import Party

NOTHING_READ = "read_nothing"


def run_as_rank(party: Party, call: Call) -> Heard:
    """Run the command of this rank; where another rank ends badly, it is ended."""
    running = Running(call)
    with party.listening(running.end):
        heard = running.follow()
    why = running.why_failed()
    # First, as a command that was ended for the sake of another rank has failed, too.
    party.refuse_lost()
    if why is not None:
        raise StageError(why)
    party.last_words[NOTHING_READ] = heard.read_nothing
    return heard


def await_others(party: Party) -> bool:
    """Wait, as the first rank, until the commands of all have ended; whether none read an input."""
    party.watch()
    party.refuse_lost()
    return all(told.get(NOTHING_READ, True) for told in (party.last_words, *party.heard))
