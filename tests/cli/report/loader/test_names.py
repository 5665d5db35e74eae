"""Names of configurations tell them apart, in few words."""

from dataclasses import replace

from madeuploader import ENTRIES, entries_like
from madeuploaderrun import made_up
from pyscale.analysis.flags import flags_of
from pyscale.analysis.ranks.loader import LoaderFindings
from pyscale.report.ranks.loader import names_of, same


def named(entries):
    points = made_up(entries, ranks=(1,), repeats=1).of(LoaderFindings).points.to_dicts()
    return names_of(points), points


def test_names_hold_what_differs_and_nothing_else():
    entries = entries_like(
        ENTRIES[0], [{"stage": f"pool{size}", "pool_size": size} for size in (2, 4)]
    )
    names, points = named(entries)
    assert names == {"pool2": "pool 2", "pool4": "pool 4"}
    alike, _ = same(points)
    assert "num_workers=2" in alike
    assert "pool_size" not in alike


def test_entries_that_differ_in_no_setting_are_named_by_themselves():
    names, _ = named([replace(ENTRIES[0], stage=stage) for stage in ("one", "other")])
    assert names == {"one": "one", "other": "other"}


def test_settings_that_are_on_or_off_are_told_in_words():
    entries = entries_like(
        ENTRIES[0],
        [{"stage": f"pin{int(pinned)}", "pin_memory": pinned} for pinned in (False, True)],
    )
    assert set(named(entries)[0].values()) == {"pinned no", "pinned yes"}


def test_flags_are_split_at_commas():
    assert flags_of({"flags": ""}) == []
    assert flags_of({"flags": "few-repeats,drift"}) == ["few-repeats", "drift"]
