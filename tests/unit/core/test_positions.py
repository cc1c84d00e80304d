"""Every form of offset, range, instant and duration that the contract names, and what is refused."""

import contextlib
import time
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.errors import ConfigError
from kcli.core.positions import (
    FarInstantError,
    OffsetSpec,
    RangeSpec,
    ResetPolicy,
    check_times,
    epoch_ms,
    has_zone,
    parse_duration_ms,
    parse_instant,
    parse_offset,
    parse_range,
    parse_reset,
    read_instant,
)

NOW = 1_795_255_200_000  # 2026-11-21T10:00:00Z
HOUR = 3_600_000
BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def time_spec(text: str) -> OffsetSpec:
    return OffsetSpec("timestamp", at(text))


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        *(
            (word, OffsetSpec("earliest"))
            for word in ("earliest", "beginning", "start", "oldest", "EARLIEST")
        ),
        *((word, OffsetSpec("latest")) for word in ("latest", "end", "newest")),
        *((word, OffsetSpec("stored")) for word in ("current", "stored")),
        ("0", OffsetSpec("offset", 0)),
        ("9223372036854775807", OffsetSpec("offset", 2**63 - 1)),
        ("20261121", OffsetSpec("offset", 20261121)),
        ("+5", OffsetSpec("from_start", 5)),
        ("-5", OffsetSpec("from_end", 5)),
        (" -5 ", OffsetSpec("from_end", 5)),
        ("@-1h", OffsetSpec("timestamp", NOW - HOUR)),
        ("@1h", OffsetSpec("timestamp", NOW - HOUR)),
        ("now", OffsetSpec("timestamp", NOW)),
        ("@now", OffsetSpec("timestamp", NOW)),
        ("today", time_spec("2026-11-21T00:00:00Z")),
        ("yesterday", time_spec("2026-11-20T00:00:00Z")),
        ("@10:30", time_spec("2026-11-21T10:30:00Z")),
        ("2026-11-21", time_spec("2026-11-21T00:00:00Z")),
        ("2026-11-21T10:00Z", OffsetSpec("timestamp", NOW)),
        ("@1732180000000", OffsetSpec("timestamp", 1_732_180_000_000)),
    ],
)
def test_positions_as_users_write_them(text: str, spec: OffsetSpec) -> None:
    assert parse_offset(text, NOW, UTC) == spec


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1.5",
        "5-",
        "--5",
        "1e3",
        "9223372036854775808",
        "@",
        "@x",
        "10:30",
        "3h",
        "-1h",
        "2026-13-01",
        "0x10",
        "１２",
        "@-",
        "@25:00",
        "2026-11-21T10:00:11:00",
        "earliest5",
        "9" * 5000,
    ],
)
def test_an_invalid_position_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not|larger than any offset"):
        parse_offset(text, NOW, UTC)


A, B = OffsetSpec("offset", 10), OffsetSpec("offset", 30)


@pytest.mark.case("S4-22")
@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("10", RangeSpec(A)),
        ("10:30", RangeSpec(A, B)),
        ("10..30", RangeSpec(A, B)),
        ("10:10", RangeSpec(A, A)),
        ("10:", RangeSpec(A)),
        ("10..", RangeSpec(A)),
        (":30", RangeSpec(None, B)),
        ("..30", RangeSpec(None, B)),
        (":end", RangeSpec(None, OffsetSpec("latest"))),
        ("start:end", RangeSpec(OffsetSpec("earliest"), OffsetSpec("latest"))),
        ("-5:-1", RangeSpec(OffsetSpec("from_end", 5), OffsetSpec("from_end", 1))),
        ("+5:-5", RangeSpec(OffsetSpec("from_start", 5), OffsetSpec("from_end", 5))),
        ("@-2h:-1h", RangeSpec(OffsetSpec("timestamp", NOW - 2 * HOUR), OffsetSpec("timestamp", NOW - HOUR))),
        (
            "@-2h..@-1h",
            RangeSpec(OffsetSpec("timestamp", NOW - 2 * HOUR), OffsetSpec("timestamp", NOW - HOUR)),
        ),
        ("@-1h:now", RangeSpec(OffsetSpec("timestamp", NOW - HOUR), OffsetSpec("timestamp", NOW))),
        ("@-1h:end", RangeSpec(OffsetSpec("timestamp", NOW - HOUR), OffsetSpec("latest"))),
        ("@-1h:", RangeSpec(OffsetSpec("timestamp", NOW - HOUR))),
        (
            "@1732180000:1732190000",
            RangeSpec(OffsetSpec("timestamp", 1_732_180_000_000), OffsetSpec("timestamp", 1_732_190_000_000)),
        ),
        ("@10:30", RangeSpec(time_spec("2026-11-21T10:30:00Z"))),
        ("@10:30..11:30", RangeSpec(time_spec("2026-11-21T10:30:00Z"), time_spec("2026-11-21T11:30:00Z"))),
        (
            "2026-11-20:2026-11-21",
            RangeSpec(time_spec("2026-11-20T00:00:00Z"), time_spec("2026-11-21T00:00:00Z")),
        ),
        ("2026-11-21T10:00Z", RangeSpec(OffsetSpec("timestamp", NOW))),
        (
            "2026-11-21T10:00Z:2026-11-21T11:00Z",
            RangeSpec(OffsetSpec("timestamp", NOW), OffsetSpec("timestamp", NOW + HOUR)),
        ),
        (
            "2026-11-21T10:00..2026-11-21T11:00",
            RangeSpec(OffsetSpec("timestamp", NOW), OffsetSpec("timestamp", NOW + HOUR)),
        ),
        ("yesterday:today", RangeSpec(time_spec("2026-11-20T00:00:00Z"), time_spec("2026-11-21T00:00:00Z"))),
    ],
)
def test_ranges(text: str, spec: RangeSpec) -> None:
    assert parse_range(text, NOW, UTC) == spec


@pytest.mark.parametrize("text", ["@10:30:11:30", "2026-11-21T10:00:11:00", "@2026-11-21T10:00:11:00"])
def test_a_range_of_times_that_can_be_read_in_more_than_one_way_asks_for_dots(text: str) -> None:
    with pytest.raises(ValueError, match=r"write \.\. between"):
        parse_range(text, NOW, UTC)


@pytest.mark.parametrize("text", ["30:10", "30..10", "@now:-1h", "+5:+1"])
def test_a_range_that_ends_before_it_starts_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="ends before it starts"):
        parse_range(text, NOW, UTC)


def test_a_range_with_a_dash_names_the_one_with_a_colon() -> None:
    with pytest.raises(ValueError, match="write 50:55 for offsets 50 to 54, the end is excluded"):
        parse_range("50-54", NOW, UTC)
    with pytest.raises(ValueError, match="or a range A:B, A: or :B, which excludes B"):
        parse_range("54-50", NOW, UTC)


@pytest.mark.parametrize("text", [":", "..", "", "a:b", "1:2:3", "1..2..3"])
def test_an_invalid_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not|neither|no colon"):
        parse_range(text, NOW, UTC)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("3h", NOW - 3 * HOUR),
        ("-3h", NOW - 3 * HOUR),
        ("@-3h", NOW - 3 * HOUR),
        ("+3h", NOW + 3 * HOUR),
        ("1h30m", NOW - HOUR - HOUR // 2),
        ("PT1H", NOW - HOUR),
        ("0", 0),
        ("1732180000", 1_732_180_000_000),
        ("1732180000123", 1_732_180_000_123),
        ("1732180000123456", 1_732_180_000_123),
        ("1732180000123456789", 1_732_180_000_123),
        ("10:30", at("2026-11-21T10:30:00Z")),
        ("9:05:07.5", at("2026-11-21T09:05:07.500Z")),
        ("2026-11-21Z", at("2026-11-21T00:00:00Z")),
        ("@2026-11-21z", at("2026-11-21T00:00:00Z")),
        ("2026-11-21 10:00", NOW),
        ("2026-11-21T10", NOW),
        ("2026-11-21T10:00:00.250Z", NOW + 250),
        ("2026-11-21T10:00z", NOW),
        ("2026-11-21T12:00+02:00", NOW),
        ("2026-11-21T12:00+0200", NOW),
        ("2026-11-21T05:00-05", NOW),
        ("1969-12-31T23:59:59Z", 0),
    ],
)
def test_instants(text: str, when: int) -> None:
    assert parse_instant(text, NOW, UTC) == when


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "h",
        "3",
        "10:3",
        "24:00",
        "2026-02-30",
        "2026-11-21T24:00",
        "2026-11-21 24Z",
        "2026-11-21T25:00",
        "2026-1-1",
    ],
)
def test_an_invalid_instant_is_refused(text: str) -> None:
    if text == "3":
        assert parse_instant(text, NOW, UTC) == 3000
        return
    with pytest.raises(ValueError, match="is not a time"):
        parse_instant(text, NOW, UTC)


@pytest.mark.parametrize(
    ("digits", "unit", "year"),
    [
        ("12345678901", "s", 2361),
        ("17321800000", "s", 2518),
        ("00017321800000", "s", 2518),
        ("99999999999", "s", 5138),
        ("17321800000000", "ms", 2518),
        ("17321800000000000", "µs", 2518),
        ("17321800000000000000", "ns", 2518),
        ("9" * 24, "ns", 31_690_708),
    ],
)
def test_a_number_that_is_a_time_of_another_century_is_refused_with_its_unit(
    digits: str, unit: str, year: int
) -> None:
    for read in (lambda text: parse_instant(text, NOW, UTC), lambda text: parse_offset("@" + text, NOW, UTC)):
        with pytest.raises(FarInstantError, match=rf"taken as {unit}, and is in the year {year}\b"):
            read(digits)
    for text in (f"@{digits}", f"@1732180000:@{digits}", f"@{digits}..@{digits}", f":@{digits}"):
        with pytest.raises(ValueError, match=f"taken as {unit}"):
            parse_range(text, NOW, UTC)


def test_a_number_of_any_length_is_a_time_or_refused_with_a_sentence() -> None:
    for count in range(1, 6000, 7):
        with contextlib.suppress(FarInstantError):
            parse_instant("9" * count, NOW, UTC)


@pytest.mark.parametrize(
    ("digits", "ms"),
    [
        ("4940000000", 4_940_000_000_000),
        ("123456789012", 123_456_789_012),
        ("123456789012345", 123_456_789_012),
    ],
)
def test_a_number_within_a_century_is_taken(digits: str, ms: int) -> None:
    assert parse_instant(digits, NOW, UTC) == parse_offset("@" + digits, NOW, UTC).value == ms


def test_a_date_of_another_century_is_one() -> None:
    assert parse_instant("2361-01-01", NOW, UTC) == at("2361-01-01T00:00:00Z")


TWICE, TAKEN = at("2026-10-25T00:30:00Z"), "2026-10-25T02:30:00+02:00"
SKIPPED, INSTEAD = at("2026-03-29T01:30:00Z"), "2026-03-29T03:30:00+02:00"


@pytest.mark.case("C15")
@pytest.mark.parametrize(
    ("text", "ms", "said", "taken"),
    [
        ("2026-10-25T02:30", TWICE, "is there twice", TAKEN),
        ("@2026-10-25 02:30:00", TWICE, "is there twice", TAKEN),
        ("2026-10-25T02:00", TWICE - HOUR // 2, "is there twice", "2026-10-25T02:00:00+02:00"),
        ("2026-03-29T02:30", SKIPPED, "does not exist", INSTEAD),
        ("2026-03-29T02:00", SKIPPED - HOUR // 2, "does not exist", "2026-03-29T03:00:00+02:00"),
    ],
)
def test_a_local_time_that_clocks_repeat_or_skip_is_said(text: str, ms: int, said: str, taken: str) -> None:
    found = read_instant(text, NOW, BERLIN)
    assert found.ms == ms
    assert said in found.note
    assert f"{taken}, was taken" in found.note or f"{taken} was taken" in found.note
    assert parse_offset("@" + text.removeprefix("@"), NOW, BERLIN) == OffsetSpec("timestamp", *found)
    for written in (f"@{text.removeprefix('@')}..now", f":@{text.removeprefix('@')}"):
        (note,) = [end.note for end in parse_range(written, NOW, BERLIN) if end is not None and end.note]
        assert note == found.note


@pytest.mark.case("C15")
def test_a_clock_time_and_a_day_that_clocks_repeat_or_skip_are_said() -> None:
    assert "is there twice" in read_instant("02:30", at("2026-10-25T12:00:00Z"), BERLIN).note
    assert "does not exist" in read_instant("02:30", at("2026-03-29T12:00:00Z"), BERLIN).note
    skips_midnight = ZoneInfo("America/Asuncion")
    found = read_instant("today", at("2023-10-01T12:00:00Z"), skips_midnight)
    assert "does not exist" in found.note
    assert found.ms == at("2023-10-01T04:00:00Z")


@pytest.mark.case("C15")
@pytest.mark.parametrize(
    ("text", "tz"),
    [
        ("2026-10-25T01:59:59", BERLIN),
        ("2026-10-25T03:00", BERLIN),
        ("2026-03-29T01:59:59", BERLIN),
        ("2026-03-29T03:00", BERLIN),
        ("2026-10-25T02:30+02:00", BERLIN),
        ("2026-10-25T02:30Z", BERLIN),
        ("2026-10-25T02:30", UTC),
        ("3h", BERLIN),
        ("now", BERLIN),
        ("@1793147400", BERLIN),
    ],
)
def test_other_times_need_no_remark(text: str, tz: tzinfo) -> None:
    assert read_instant(text, NOW, tz).note == ""


@pytest.mark.case("C15")
def test_clocks_of_the_systems_zone_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    try:
        assert (
            read_instant("2026-10-25T02:30", NOW).note
            == read_instant("2026-10-25T02:30", NOW, BERLIN).note
            != ""
        )
        assert (
            read_instant("2026-03-29T02:30", NOW).note
            == read_instant("2026-03-29T02:30", NOW, BERLIN).note
            != ""
        )
        assert read_instant("2026-03-29T03:30", NOW).note == ""
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("@+1h", "x: S is in the future"),
        ("@+1h..@+2h", "x: S is in the future"),
        ("2361-01-01..", "x: S is in the future"),
        ("@+1h:end", "x: S is in the future"),
    ],
)
def test_a_range_that_begins_in_the_future_is_refused(text: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        check_times(parse_range(text, NOW, UTC), NOW, "x", since="S")


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    spec = RangeSpec(OffsetSpec("timestamp", NOW - 1), OffsetSpec("timestamp", NOW - 2))
    with pytest.raises(ConfigError, match="x: U is before S"):
        check_times(spec, NOW, "x", since="S", until="U")


@pytest.mark.parametrize(
    "text", ["now", "@now..@+1h", "@-1h..@-1h", "99999999999999:", ":@+1h", ":@-1h", "5..@-1h"]
)
def test_other_ranges_may_have_records(text: str) -> None:
    check_times(parse_range(text, NOW, UTC), NOW, "x", since="S")


@pytest.mark.parametrize(
    "text",
    [
        "1969-12-31T23:59:59.999Z",
        "1969-12-31T23:59:59.998Z",
        "1970-01-01T00:30+01:00",
        "1900-01-01T00:00Z",
        "99999d",
    ],
)
def test_a_time_before_1970_is_no_special_offset_of_a_request(text: str) -> None:
    found = read_instant(text, NOW, UTC)
    assert found.ms == 0
    assert found.note == f"{text} is before 1970-01-01T00:00Z, where timestamps begin, which was taken"
    assert parse_offset(f"@{text}", NOW, UTC)[:2] == ("timestamp", 0)


@pytest.mark.case("C15")
def test_times_without_zone_are_local() -> None:
    assert parse_instant("2026-11-21T11:00", NOW, BERLIN) == NOW
    assert parse_instant("2026-07-01T12:00", NOW, BERLIN) == at("2026-07-01T10:00:00Z")
    assert parse_instant("today", NOW, BERLIN) == at("2026-11-20T23:00:00Z")
    assert parse_instant("11:00", NOW, BERLIN) == NOW
    minus = timezone(timedelta(hours=-11))
    assert parse_instant("today", NOW, minus) == at("2026-11-20T11:00:00Z")  # there it is still the 20th


@pytest.mark.case("C15")
def test_the_days_around_a_change_of_clocks_have_23_and_25_hours() -> None:
    noon = at("2026-10-25T11:00:00Z")  # the clocks went back that morning
    assert parse_instant("today", noon, BERLIN) - parse_instant("yesterday", noon, BERLIN) == 24 * HOUR
    next_day = noon + 24 * HOUR
    assert (
        parse_instant("today", next_day, BERLIN) - parse_instant("yesterday", next_day, BERLIN) == 25 * HOUR
    )


@pytest.mark.case("C15")
@pytest.mark.parametrize(
    ("text", "zoned"),
    [
        ("2026-11-21T10:00Z", True),
        ("2026-11-21T10:00+01:00", True),
        ("2026-11-21T10:00-05", True),
        ("@1732180000", True),
        ("@-1h", True),
        ("now", True),
        ("2026-11-21Z", True),
        ("2026-11-21T10:00", False),
        ("2026-11-21", False),
        ("@10:30", False),
        ("today", False),
    ],
)
def test_whether_a_time_means_the_same_everywhere(text: str, zoned: bool) -> None:
    assert has_zone(text) is zoned


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("90s", 90000),
        ("1h30m", 5400000),
        ("2d", 172800000),
        ("500ms", 500),
        ("1.5h", 5400000),
        ("1w", 604800000),
        ("1d2h3m4s5ms", 93784005),
        ("10", 10000),
        ("0.5", 500),
        ("0s", 0),
        ("1H", HOUR),
        ("PT1H30M", 5400000),
        ("P2D", 172800000),
        ("P1DT1S", 86401000),
        ("PT0.5S", 500),
        ("pt5s", 5000),
    ],
)
def test_durations(text: str, ms: int) -> None:
    assert parse_duration_ms(text) == ms


@pytest.mark.parametrize(
    "text", ["", "s", "1x", "1m1h", "1s1s", "-1s", "P", "PT", "P1H", "1h 30m", "1ms1s", "P1DT"]
)
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration_ms(text)


def test_a_bare_number_is_no_duration_where_a_unit_is_due() -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration_ms("10", unit=True)


@given(st.integers(10**9, 10**10 - 1))
def test_epochs_of_all_units_are_distinguished(seconds: int) -> None:
    """2001 to 2286, the years for which the number of digits decides."""
    for digits in (f"{seconds}", f"{seconds}000", f"{seconds}000000", f"{seconds}000000000"):
        assert epoch_ms(digits) == seconds * 1000


@given(st.text(max_size=30))
def test_any_text_is_a_position_or_a_value_error(text: str) -> None:
    for parse in (parse_offset, parse_range, parse_instant):
        with contextlib.suppress(ValueError):
            parse(text, NOW, UTC)


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_ranges_of_offsets_come_back(a: int, b: int) -> None:
    low, high = sorted((a, b))
    for sign in (":", ".."):
        assert parse_range(f"{low}{sign}{high}", NOW, UTC) == RangeSpec(
            OffsetSpec("offset", low), OffsetSpec("offset", high)
        )


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("earliest", ResetPolicy("earliest")),
        ("smallest", ResetPolicy("earliest")),
        ("Latest", ResetPolicy("latest")),
        ("largest", ResetPolicy("latest")),
        ("none", ResetPolicy("none")),
        ("error", ResetPolicy("none")),
        ("by_duration:PT1H", ResetPolicy("duration", 3_600_000)),
    ],
)
def test_reset_policies_of_java_and_librdkafka(text: str, policy: ResetPolicy) -> None:
    assert parse_reset(text) == policy


@pytest.mark.parametrize("text", ["", "soon", "by_duration:", "by_duration:x"])
def test_other_words_are_no_reset_policy(text: str) -> None:
    with pytest.raises(ValueError, match="is n"):
        parse_reset(text)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("start+5", "+5"),
        ("END-3", "-3"),
        ("start+5:end-3", "+5:-3"),
        ("oldest+1..newest-1", "+1..-1"),
        (":end-3", ":-3"),
        ("@-1h..end-3", "@-1h..-3"),
    ],
)
def test_positions_from_a_named_end(text: str, same: str) -> None:
    assert parse_range(text, 1_700_000_000_000) == parse_range(same, 1_700_000_000_000)


@pytest.mark.parametrize("text", ["start-5", "end+3", "stored+1", "now-3"])
def test_there_is_nothing_before_the_start_or_after_the_end(text: str) -> None:
    with pytest.raises(ValueError, match="not an offset"):
        parse_range(text, 1_700_000_000_000)
