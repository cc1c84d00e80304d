"""``--grep``: which records match, negated or not, and that the quick ways find what the plain one does."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.records.batch import split_batches
from kcli.core.types import Record
from kcli.flows.filters.grep import parse_grep
from kcli.flows.filters.selection import Selection
from tests.batches import fetched_of, run_of, wanted_by
from tests.unit.records.samples import kafka_python_batch

ROWS = [
    Record("orders", 0, 0, 1000, 0, b"k1", b"error: disk", (("trace", b"abc"),)),
    Record("orders", 0, 1, 1001, 0, b"k2", b"fine", (("trace", b"xyz"), ("trace", b"abc"))),
    Record("orders", 0, 3, 1002, 0, None, b"an error\nat the end", (("other", b"abc"),)),
    Record("orders", 0, 4, 1003, 0, b"error", None, (("trace", None),)),
    Record("orders", 0, 9, 1004, 0, b"", b"", ()),
]


def matching(*texts: str, rows: list[Record] = ROWS) -> list[int]:
    """The offsets that all of these filters want, which are the same when each record has a batch of its own."""
    together = wanted_of(texts, rows, fetched_of(rows))
    if len(rows) > 1:
        assert wanted_of(texts, rows, fetched_of(rows, run_of(rows))) == together
    return together


def wanted_of(texts: Sequence[str], rows: list[Record], fetched: FetchedBatch) -> list[int]:
    """The offsets that the filters want of a batch with these rows."""
    return [
        rows[index].offset for index in wanted_by(Selection([parse_grep(text) for text in texts]), fetched)
    ]


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        ("v:error", [0, 3]),
        ("!v:error", [1, 4, 9]),
        ("v:^error", [0]),
        ("v:end$", [3]),
        ("v:error.at", [3]),
        ("v:(?i)ERROR", [0, 3]),
        ("v:", [0, 1, 3, 9]),
        ("!v:", [4]),
        ("v:nowhere", []),
        ("!v:nowhere", [0, 1, 3, 4, 9]),
        ("v:no[w]here", []),
        ("k:k", [0, 1]),
        ("k:^k[2-9]$", [1]),
        ("k:error", [4]),
        ("!k:.", [3, 9]),
        ("h:trace=abc", [0, 1]),
        ("h:trace=^x", [1]),
        ("!h:trace=abc", [3, 4, 9]),
        ("h:trace=", [0, 1]),
        ("h:other=a=b", []),
        ("t:ord", [0, 1, 3, 4, 9]),
        ("t:^rd", []),
        ("!t:^rd", [0, 1, 3, 4, 9]),
    ],
)
def test_one_filter(text: str, offsets: list[int]) -> None:
    assert matching(text) == offsets


def test_several_filters_are_and() -> None:
    assert matching("v:error", "h:trace=abc") == [0]
    assert matching("!v:fine", "!k:.", "v:.") == [3]
    assert matching("v:error", "v:fine") == []


def test_a_key_is_not_found_in_a_value_nor_across_the_border() -> None:
    rows = [Record("t", 0, 0, 0, 0, b"ab", b"cd"), Record("t", 0, 1, 0, 0, b"ef", b"ab")]
    assert matching("k:ab", rows=rows) == [0]
    assert matching("v:ab", rows=rows) == [1]
    assert matching("k:bc", rows=rows) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("error", "names no field"),
        ("x:error", "names no field"),
        ("!", "names no field"),
        ("h:trace", "names no header"),
        ("h:=x", "names no header"),
        ("v:(", "regular expression"),
        ("v:[", "regular expression"),
    ],
)
def test_an_invalid_filter_is_reported(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_grep(text)


OLD = [(b"k1", b"error"), (None, b"fine"), (b"error", None), (b"k", b"an error here"), (b"", b"")]
DATA = st.none() | st.text("ab", max_size=4).map(str.encode)
PATTERNS = ["a", "ab", "aba", "^a", "b$", "a|bb", "a.b", r"\Aab\Z", r"\bab\b", "(?=b)b", "b*", "", "[ab]{3}"]
PATTERNS += ["(?i)AB", "ab|aba", "b(?:ab)+a", "a{2}b", "(?x) a b", "[a]b", r"a\x62", "(?i:B)a", "ba?"]


@given(
    st.lists(st.tuples(DATA, DATA), min_size=1, max_size=12), st.sampled_from(PATTERNS), st.sampled_from("kv")
)
def test_the_quick_ways_find_what_the_plain_one_does(
    pairs: list[tuple[bytes | None, bytes | None]], pattern: str, field: str
) -> None:
    rows = [Record("t", 0, n, 0, 0, key, value) for n, (key, value) in enumerate(pairs)]
    plain = [
        n
        for n, pair in enumerate(pairs)
        if (data := pair["kv".index(field)]) is not None and re.search(pattern.encode(), data, re.DOTALL)
    ]
    assert matching(f"{field}:{pattern}", rows=rows) == plain
    assert matching(f"!{field}:{pattern}", rows=rows) == [n for n in range(len(rows)) if n not in plain]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1])
def test_formats_before_magic_2_are_searched_like_it(magic: int, codec: int) -> None:
    rows = [Record("t", 0, n, 1000, 0, key, value) for n, (key, value) in enumerate(OLD)]
    raw = kafka_python_batch([(r.timestamp, r.key, r.value, ()) for r in rows], codec, magic)
    for batch in split_batches(memoryview(raw)):
        some = rows[batch.base_offset : batch.next_offset]
        for text in ("v:error", "k:error", "v:err.r$", "!v:error", "!k:k", "v:", "!v:"):
            assert wanted_of([text], some, fetched_of(some, batch)) == wanted_of(
                [text], some, fetched_of(some)
            )


@pytest.mark.parametrize(
    ("pattern", "needle"),
    [
        ("error", b"error"),
        ("", b""),
        (r"no\.such", b"no.such"),
        ("^id=[0-9]+ error$", b" error"),
        ("time.?out after", b"out after"),
        ("error|warning", b""),
        ("(?i)error", b""),
        ("(?i:error) at", b" at"),
        ("[0-9]{5}", b""),
        ("é", "é".encode()),
    ],
)
def test_the_literal_common_to_all_matches_is_searched_first(pattern: str, needle: bytes) -> None:
    assert parse_grep(f"v:{pattern}").needle == needle


def test_read_records_are_counted() -> None:
    selection = Selection([parse_grep("v:nowhere")])
    assert selection.select(fetched_of(ROWS)) is None
    assert selection.scanned == 5


def test_markers_of_transactions_are_not_filtered() -> None:
    marker = fetched_of([Record("t", 0, 5, 0, 0, b"\0\0\0\1", bytes(6))], flags=0x30)
    assert Selection([parse_grep("v:error")]).select(marker) == b""
