from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pyscale.traces.tracefile import bytes_of, moment, seconds_of_clock, seconds_of_words


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("250ms", 0.25),
        ("0ms", 0),
        ("4.2s", 4.2),
        ("1m", 60),
        ("21m 24s", 1284),
        ("1d 2h 3m 4s", 93784),
        ("2h", 7200),
    ],
)
def test_times_in_words_are_read(text, seconds):
    assert seconds_of_words(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:00.076", 0.076), ("02:03", 123), ("01:02:03", 3723), ("1-01:00:00", 90000)],
)
def test_times_on_a_clock_are_read(text, seconds):
    assert seconds_of_clock(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("110145536", 110145536),
        ("1204K", 1204 << 10),
        ("0.5M", 1 << 19),
        ("2.5 GB", 5 << 29),
        ("6 GiB", 6 << 30),
        ("512 B", 512),
    ],
)
def test_sizes_are_powers_of_1024(text, size):
    assert bytes_of(text) == size


def test_what_is_counted_since_1970_is_in_utc_and_a_date_on_its_own_clock():
    assert moment("1773747744") == datetime(2026, 3, 17, 11, 42, 24, tzinfo=UTC)
    assert moment("1773747744250", per_second=1000).microsecond == 250_000
    assert moment("2026-03-17 11:42:24.250") == datetime(2026, 3, 17, 11, 42, 24, 250_000)


@pytest.mark.parametrize("read", [seconds_of_words, seconds_of_clock, bytes_of, moment])
@pytest.mark.parametrize("text", ["soon", "", "-5", "1,5", "5 parsecs", "9" * 40 + " x"])
def test_what_is_no_time_and_no_size_is_refused(read, text):
    with pytest.raises(ValueError, match=r".*"):
        read(text)


def test_a_count_beyond_all_dates_is_refused():
    with pytest.raises(ValueError, match="9{20}"):
        moment("9" * 20)
