from datetime import datetime

import pytest

from pyscale.traces.tracefile import bytes_of, moment, seconds_of_clock, seconds_of_words


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (seconds_of_words, "250ms", 0.25),
        (seconds_of_words, "0ms", 0),
        (seconds_of_words, "4.2s", 4.2),
        (seconds_of_words, "1m", 60),
        (seconds_of_words, "21m 24s", 1284),
        (seconds_of_words, "1d 2h 3m 4s", 93784),
        (seconds_of_clock, "00:00.076", 0.076),
        (seconds_of_clock, "02:03", 123),
        (seconds_of_clock, "01:02:03", 3723),
        (seconds_of_clock, "1-01:00:00", 90000),
        (bytes_of, "0", 0),
        (bytes_of, "110145536", 110145536),
        (bytes_of, "1204K", 1204 << 10),
        (bytes_of, "0.5M", 1 << 19),
        (bytes_of, "2.5 GB", 5 << 29),
        (bytes_of, "6 GiB", 6 << 30),
        (bytes_of, "512 B", 512),
    ],
)
def test_times_in_words_and_on_a_clock_and_sizes_by_powers_of_1024_are_read(read, text, value):
    assert read(text) == pytest.approx(value)


def test_what_is_counted_since_1970_or_has_a_zone_is_in_utc_and_a_date_on_its_own_clock():
    assert moment("1773747744") == datetime(2026, 3, 17, 11, 42, 24)
    assert moment("1773747744250", per_second=1000).microsecond == 250_000
    assert moment("2026-03-17T12:42:24+01:00") == datetime(2026, 3, 17, 11, 42, 24)
    assert moment("2026-03-17 11:42:24.250") == datetime(2026, 3, 17, 11, 42, 24, 250_000)
    # A count beyond all dates is refused.
    with pytest.raises(ValueError, match="9{20}"):
        moment("9" * 20)
