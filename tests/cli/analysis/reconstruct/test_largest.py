"""Which size fits so many ranks, and from which on memory runs out."""

from __future__ import annotations

from madeupreconstruct import Entry, reconstruction
from pyscale.analysis.reconstruct.largest import largest_sizes
from pyscale.analysis.reconstruct.trials import reconstruct_trials


def test_the_smallest_size_that_memory_did_not_hold_is_told() -> None:
    entries = [
        Entry(f"deblur_{size_px}", size_px=size_px, fits_from=fits_from)
        for size_px, fits_from in ((2048, 4), (256, 1), (1024, 2), (512, 1))
    ]
    largest = largest_sizes(reconstruct_trials(reconstruction(entries, repeats=1)))
    assert largest["workers"].to_list() == [1, 2, 4, 8]
    assert largest["largest_px"].to_list() == [512, 1024, 2048, 2048]
    assert largest["exhausted_px"].to_list() == [1024, 2048, None, None]


def test_a_size_that_failed_for_another_reason_neither_fits_nor_exhausts_memory() -> None:
    entries = [Entry("small", size_px=256), Entry("broken", size_px=512, error="a disk is full")]
    largest = largest_sizes(reconstruct_trials(reconstruction(entries, ranks=(2,), repeats=1)))
    assert largest.select("largest_px", "exhausted_px").row(0) == (256, None)
