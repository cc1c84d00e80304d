"""Values of configurations with units: what they are for Kafka, and what is said of them to people."""

import re

import pytest

from kcli.flows.configs.units import duration_in_units, number_of, size_in_units, size_of, with_unit

LONGEST = str((1 << 63) - 1)

GIVEN = {
    ("retention.ms", "7d"): "604800000",
    ("retention.ms", " 7 d "): "604800000",
    ("retention.ms", "1h30m"): "5400000",
    ("retention.ms", "1.5h"): "5400000",
    ("retention.ms", "2w"): "1209600000",
    ("retention.ms", "250MS"): "250",
    ("retention.ms", "0.1s"): "100",
    ("retention.ms", "never"): "-1",
    ("log.retention.hours", "7d"): "168",
    ("log.retention.minutes", "2h"): "120",
    ("quota.window.size.seconds", "1m"): "60",
    ("flush.ms", "Never"): LONGEST,
    ("message.timestamp.before.max.ms", "never"): LONGEST,
    ("segment.bytes", "1GiB"): "1073741824",
    ("segment.bytes", "1gb"): "1000000000",
    ("segment.bytes", "1.5KiB"): "1536",
    ("retention.bytes", "never"): "-1",
    ("retention.bytes", "9TiB"): str(9 << 40),
    ("log.cleaner.dedupe.buffer.size", "128MiB"): str(128 << 20),
    ("leader.replication.throttled.rate", "10MB/s"): "10000000",
    ("leader.replication.throttled.rate", "10 MB"): "10000000",
    ("log.cleaner.io.max.bytes.per.second", "1MiB/s"): "1048576",
}


@pytest.mark.parametrize(("given", "number"), GIVEN.items(), ids=str)
def test_units_become_the_number_that_the_key_counts(given: tuple[str, str], number: str) -> None:
    assert number_of(*given) == number


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("retention.ms", "604800000"), ("retention.ms", "-1"), ("retention.ms", "+5"), ("retention.ms", "soon"),
        ("retention.ms", ""), ("retention.ms", "1_000"), ("segment.bytes", "0"), ("segment.bytes", "1.5"),
        ("cleanup.policy", "compact"), ("cleanup.policy", "never"), ("min.insync.replicas", "2k"),
        ("min.cleanable.dirty.ratio", "0.5"), ("leader.replication.throttled.replicas", "0:1,1:2"),
        ("compression.gzip.level", "9"), ("message.format.version", "3.0-IV1"), ("flush.messages", "7d"),
        ("log.cleaner.io.max.bytes.per.second", "1.7976931348623157E308"),
    ],
)  # fmt: skip
def test_everything_else_is_passed_on_as_it_is(key: str, text: str) -> None:
    """A broker says what it does not accept."""
    assert number_of(key, text) == text


REFUSED = {
    ("retention.ms", "infinite"): "no limit is 'never'",
    ("retention.bytes", "Unlimited"): "no limit is 'never'",
    ("segment.bytes", "unlimited"): "segment.bytes has no value for 'unlimited'",
    ("retention.ms", "7days"): "units are w, d, h, m (minutes), s and ms",
    ("retention.ms", "7d 3x"): "units are w, d, h, m (minutes), s and ms",
    ("retention.ms", "1mo"): "units are w, d, h, m (minutes), s and ms",
    ("retention.ms", "-1d"): "units are w, d, h, m (minutes), s and ms",
    ("retention.ms", "1e3"): "units are w, d, h, m (minutes), s and ms",
    ("retention.ms", "10MB"): "units are w, d, h, m (minutes), s and ms",
    ("retention.ms", "5M"): "M may be months, minutes are m",
    ("retention.ms", "1.00001s"): "no whole number of milliseconds",
    ("retention.ms", "99999999999999w"): "more than any value",
    ("log.retention.hours", "90m"): "no whole number of hours",
    ("segment.bytes", "1G"): "ambiguous: write 1GB (powers of 1000) or 1GiB (powers of 1024)",
    ("segment.bytes", "1k"): "ambiguous: write 1KB (powers of 1000) or 1KiB (powers of 1024)",
    ("segment.bytes", "7d"): "units are B, KB, MB, GB, TB (powers of 1000) and KiB",
    ("segment.bytes", "10MB/s"): "units are B, KB, MB, GB, TB (powers of 1000) and KiB",
    ("segment.bytes", "1.1B"): "no whole number of bytes",
    ("leader.replication.throttled.rate", "10/s"): "no unit of bytes",
    ("leader.replication.throttled.rate", "10Mbit/s"): "units are B, KB, MB, GB, TB",
    ("segment.ms", "never"): "segment.ms has no value for 'never'; keys with one are retention.ms",
    ("local.retention.ms", "never"): "local.retention.ms has no value for 'never'",
}


@pytest.mark.parametrize(("given", "why"), REFUSED.items(), ids=str)
def test_units_that_are_unknown_or_ambiguous_are_refused_with_those_there_are(
    given: tuple[str, str], why: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        number_of(*given)


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("retention.ms", "604800000", "604800000 (7 d)"), ("retention.ms", "5400000", "5400000 (1 h 30 m)"),
        ("retention.ms", "90061000", "90061000"), ("retention.ms", "500", "500"), ("retention.ms", "0", "0"),
        ("retention.ms", "-1", "-1 (never)"), ("retention.bytes", "-1", "-1 (no limit)"),
        ("local.retention.ms", "-2", "-2"), ("log.retention.hours", "168", "168 (7 d)"),
        ("flush.ms", LONGEST, f"{LONGEST} (never)"), ("segment.bytes", "1073741824", "1073741824 (1 GiB)"),
        ("max.message.bytes", "1048588", "1048588"), ("segment.bytes", "10000000", "10000000 (10 MB)"),
        ("segment.bytes", "100", "100"), ("follower.replication.throttled.rate", "10000000", "10000000 (10 MB/s)"),
        ("cleanup.policy", "compact", "compact"), ("min.insync.replicas", "1024", "1024"), ("retention.ms", "", ""),
        ("leader.replication.throttled.replicas", "*", "*"),
    ],
)  # fmt: skip
def test_people_see_what_a_number_means_where_that_is_exact_and_shorter(
    key: str, value: str, shown: str
) -> None:
    assert with_unit(key, value) == shown


def test_what_is_shown_can_be_typed() -> None:
    """Every text in brackets is the number again."""
    for number in (1000, 5000, 60_000, 61_000, 3_600_000, 86_400_000, 90_000_000, 604_800_000, 10**11):
        if text := duration_in_units(number):
            assert number_of("retention.ms", text.replace(" ", "").replace(",", "")) == str(number)
    for size in (
        1000,
        1024,
        1536,
        10**6,
        5 << 20,
        10**9,
        1 << 30,
        1288490189,
        3 * 10**12,
        (1 << 40) + (1 << 39),
    ):
        if shown := size_in_units(size):
            assert size_of(shown) == size
