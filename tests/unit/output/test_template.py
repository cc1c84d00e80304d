"""The ``-f`` format: every verb, every escape, and what is not one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.types import Record
from kcli.output.records import TemplateFormatter
from kcli.output.template import Template, TemplateError
from tests.batches import fetched_of

RECORD = Record(
    topic="orders",
    partition=3,
    offset=42,
    timestamp=1_700_000_000_123,
    timestamp_type=0,
    key=b"k\xff",
    value=b'v"\n',
    headers=(("a", b"1"), ("b", None), (b"\xff", b"")),
    leader_epoch=7,
)
NULLS = Record("t", 0, 0, -1, 0, None, None)


def rendered(text: str, record: Record = RECORD, null: bytes = b"") -> bytes:
    producer = {"producer": 99, "epoch": 5} if record is RECORD else {}
    fetched = fetched_of([record], **producer)
    found = TemplateFormatter(Template(text, null=null)).batch(fetched, None, b"")
    assert found.count == 1
    return found.data


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%t", b"orders"),
        ("%p", b"3"),
        ("%o", b"42"),
        ("%k", b"k\xff"),
        ("%v", b'v"\n'),
        ("%s", b'v"\n'),
        ("%K", b"2"),
        ("%V", b"3"),
        ("%S", b"3"),
        ("%R", b"\0\0\0\3"),
        ("%T", b"1700000000123"),
        ("%d", b"1700000000123"),
        ("%d{strftime[%Y-%m-%d %H:%M:%S]}", b"2023-11-14 22:13:20"),
        ("%d{strftime[]}", b""),
        ("%h", b"a=1,b=NULL,\xff="),
        ("%h{%k:%v;}", b"a:1;b:;\xff:;"),
        ("%h{a}", b"1"),
        ("<%h{b}>", b"<>"),
        ("%h{missing}", b""),
        (r"%h{\x61}%o", b"142"),
        ("%k %h{a} %d{strftime[%Y]} %h{a}", b"k\xff 1 2023 1"),
        ("%h{[%k{hex}=%v{base64}]}", b"[61=MQ==][62=][ff=]"),
        ("%H", b"3"),
        ("%e", b"7"),
        ("%x", b"99"),
        ("%y", b"5"),
        ("%%", b"%"),
        ("%k{hex}", b"6bff"),
        ("%k{base64}", b"a/8="),
        ("%v{json}", b'"v\\"\\n"'),
        ("%s{hex}", b"76220a"),
        ("%k{json}", b'"k\\\\xff"'),
    ],
)
def test_verbs(text: str, expected: bytes) -> None:
    assert rendered(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%k|%v|%s", b"||"),
        ("%K|%V|%S", b"-1|-1|-1"),
        ("%R", b"\xff\xff\xff\xff"),
        ("%T|%d", b"-1|-1"),
        ("%d{strftime[%Y]}", b""),
        ("%h|%H", b"|0"),
        ("%h{%k}", b""),
        ("%e|%x|%y", b"-1|-1|-1"),
        ("%k{hex}%v{json}", b""),
    ],
)
def test_what_a_record_does_not_have(text: str, expected: bytes) -> None:
    assert rendered(text, NULLS) == expected


def test_null_is_written_as_requested() -> None:
    assert rendered("%k=%v{base64}", NULLS, null=b"NULL") == b"NULL=NULL"
    assert rendered("%h{%k=%v,}", null=b"NULL") == b"a=1,b=NULL,\xff=,"


def test_a_header_by_name_is_the_last_of_that_name() -> None:
    source = Record(
        "t", 0, 0, -1, 0, None, None, (("a", b"1"), ("b", b"x"), ("a", b"2"), ("n", b"1"), ("n", None))
    )
    assert rendered("%h{a}|%h{b}|%h{n}|%h{A}", source, null=b"N") == b"2|x|N|"


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("", False),
        ("json", False),
        ("100%%", False),
        ("\\n", False),
        ("%t", True),
        ("%h{a}", True),
        ("x%R", True),
    ],
)
def test_whether_a_format_prints_anything_of_a_record(text: str, has: bool) -> None:
    assert Template(text).has_verbs is has


@pytest.mark.parametrize("empty", [b"", None])
def test_empty_is_not_null(empty: bytes | None) -> None:
    source = Record("t", 0, 0, -1, 0, empty, empty)
    assert rendered("%k%v", source, null=b"N") == (b"" if empty is not None else b"NN")
    assert rendered("%S", source) == (b"0" if empty is not None else b"-1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\n\r\t\\", b"\n\r\t\\"),
        (r"\x00\xff\x41\xAf", b"\0\xffA\xaf"),
        (r"a\nb", b"a\nb"),
        ("plain", b"plain"),
        ("", b""),
        ("ünï", "ünï".encode()),
        ("\udcff", b"\xff"),
        ("100%%\\n", b"100%\n"),
        ("{}", b"{}"),
    ],
)
def test_text_and_escapes(text: str, expected: bytes) -> None:
    assert rendered(text) == expected


def test_no_newline_is_added() -> None:
    assert rendered("%o %o") == b"42 42"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("%", "single %"),
        ("abc%", "single %"),
        ("%z", "%z"),
        ("%é", "%é"),
        ("%k{", "not closed"),
        ("%h{%k{hex}", "not closed"),
        ("%k{rot13}", "rot13"),
        ("%v{}", "%v{}"),
        ("%o{hex}", "%o"),
        ("%t{json}", "%t"),
        ("%d{%Y}", "strftime"),
        ("%d{strftime[%Y}", "strftime"),
        ("%h{}", "names no header"),
        ("%h{%q}", "%q"),
        ("%h{%o}", "not for headers"),
        ("%h{%h}", "not for headers"),
        ("%h{%}", "single %"),
        ("\\", "escape"),
        ("\\q", "escape"),
        ("\\x", "escape"),
        ("\\x4", "escape"),
        ("\\xzz", "escape"),
        ("\\x+1", "escape"),
        ("\\x 1", "escape"),
        ("\\x1 ", "escape"),
        ("\\x１２", "escape"),
    ],
)
def test_an_unknown_verb_or_escape_is_named(text: str, said: str) -> None:
    with pytest.raises(TemplateError) as error:
        Template(text)
    assert said in str(error.value)


@pytest.mark.parametrize("timestamp", [-1, -(2**63), 253_402_300_800_000, 9_223_372_036_854_775_807])
def test_times_that_no_calendar_has(timestamp: int) -> None:
    source = Record("t", 0, 0, timestamp, 0, None, None)
    assert rendered("%T", source) == b"%d" % timestamp
    assert rendered("%d{strftime[%Y]}", source) == (b"" if timestamp < 0 else b"%d" % timestamp)


def test_a_pattern_may_hold_braces_in_its_brackets() -> None:
    assert rendered("%d{strftime[{%Y}]}") == b"{2023}"


def test_a_pattern_that_no_calendar_writes_gives_the_number() -> None:
    assert rendered("%d{strftime[%Y ü]}") == "2023 ü".encode()
    assert rendered("%d{strftime[\udcff]}") == b"1700000000123"


@given(st.binary(max_size=50), st.binary(max_size=50))
def test_length_prefixed_output_can_be_read_back(key: bytes, value: bytes) -> None:
    data = rendered("%R%s%K:%k", Record("t", 0, 0, 0, 0, key, value))
    size = int.from_bytes(data[:4], "big")
    assert data[4 : 4 + size] == value
    count, _, rest = data[4 + size :].partition(b":")
    assert rest == key
    assert int(count) == len(key)
