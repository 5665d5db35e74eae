"""The journal keeps every event, whatever happens to the process that writes it."""

from hypothesis import given
from hypothesis import strategies as st

from pyscale.store.journal import Journal


@given(cut=st.integers(0, 400))
def test_a_torn_line_loses_itself_alone(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    journal = Journal(path)
    for trial in ("a", "b", "c"):
        journal.append("trial_finished", trial)
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    journal.append("trial_finished", "d")
    kept = [event.trial for event in journal.read()]
    # A line that lost its newline alone is whole; one that lost a brace is not.
    survivors = [
        name
        for name, line in zip("abc", whole.splitlines(keepends=True), strict=True)
        if whole.index(line) + len(line) - 1 <= cut
    ]
    assert kept == [*survivors, "d"]
