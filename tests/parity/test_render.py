"""Every implementation of the render kernel writes what the plain one does, and refuses what it must."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels import render_ops as op
from tests.parity import plain
from tests.parity.plain_render import Row, render

shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

EVERY_FORM = range(op.NOT_TEXT + 1)
BOTH = (op.KEY, op.VALUE)
INNER = (
    *[(op.BYTES, which, form, b"NULL", b"*") for which in BOTH for form in EVERY_FORM],
    *[(op.LENGTH, which) for which in BOTH],
    (op.NUMBER, op.KEY_LENGTH),
    (op.NUMBER, op.VALUE_LENGTH),
    (op.LITERAL, b";"),
)
OPERATIONS: list[Any] = [
    *INNER,
    (op.LITERAL, b""),
    *[(op.NUMBER, which) for which in range(op.VALUE_LENGTH + 1)],
    *[(op.NUMBER, which, b"none") for which in range(op.VALUE_LENGTH + 1)],
    (op.TIME, b"<", b">", b"never"),
    (op.TIMESTAMP_TYPE, b"none", b"create", b"append"),
    (op.HEADERS, op.HEADERS_TEXT),
    (op.HEADERS, op.HEADERS_JSON),
    (op.HEADERS, op.HEADERS_FLAT, b"{", b"}"),
    (op.HEADERS, op.HEADERS_CSV),
    (op.HEADERS, op.HEADERS_EACH, INNER),
    (op.HEADERS, op.HEADERS_EACH, ()),
    (op.EXTRA, 0, (op.BYTES, op.VALUE, op.HEX, b"-", b"")),
    (op.EXTRA, 0, (op.LITERAL, b"other")),
    (op.EXTRA, 1),
]
TRICKY = [
    b"", b'"', b"\\", b"\x00\x1f\x7f\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xe2\x80\xa8", b"a,b",
    b"\r", b"\n", b'say "x"', b"\xf0\x9f\x98\x80", b"\xf0\x9f\x98", b"\xff" * 9, b"\xef\xbb\xbf", b"\xc3\xa9", b"[]",
]  # fmt: skip
DATA = st.binary(max_size=12) | st.sampled_from(TRICKY) | st.text(max_size=6).map(str.encode)
FIELD = st.none() | DATA
STAMPS = st.sampled_from(
    [0, -1, 1, 999, 951_782_400_000, 1_700_000_000_123, 253_402_300_799_999, 1 << 62, -(1 << 62)]
)
ROWS = st.lists(
    st.tuples(FIELD, FIELD, st.lists(st.tuples(DATA, FIELD), max_size=3), STAMPS, st.sampled_from([1, 1, 2, 70])),
    max_size=12,
)  # fmt: skip
BASE = 1 << 40


def made(rows: Any, base: int, append: int | None) -> tuple[bytes, list[Row], list[int]]:
    """The payload, its records, and their offset deltas."""
    payload, found, deltas, at = b"", [], [], -1
    for key, value, headers, stamp, gap in rows:
        at += gap
        payload += plain.record(key, value, plain.header_block(tuple(headers)), at, stamp)
        found.append(Row(base + at, stamp if append is None else append, key, value, tuple(headers)))
        deltas.append(at)
    return payload, found, deltas


@pytest.mark.case("C11")
@shared
@given(
    rows=ROWS,
    program=st.lists(st.sampled_from(OPERATIONS), max_size=8),
    kind=st.sampled_from([-1, 0, 1]),
    first=st.integers(-2, 40),
    last=st.integers(-2, 200),
    limit=st.integers(-1, 6),
    seed=st.randoms(use_true_random=False),
)
def test_any_program(
    kernels: ModuleType, rows: Any, program: Any, kind: int, first: int, last: int, limit: int, seed: Any
) -> None:
    append = 1_699_999_999_999
    payload, records, deltas = made(rows, BASE, append if kind == 1 else None)
    extras = ([seed.choice([None, b"x", b""]) for _ in rows], [b"%d" % i for i in range(len(rows))])
    selected = seed.choice([b"", bytes(seed.choice([0, 1, 255]) for _ in rows)])
    facts = (BASE, 0, append, kind, seed.choice([-1, 7]), 9, -1)

    found = kernels.render_records(
        memoryview(payload), len(rows), tuple(program), facts, first, last, limit, selected, extras
    )

    written = render(records, program, facts, extras)
    wanted = [i for i, delta in enumerate(deltas) if first <= delta <= last and (not selected or selected[i])]
    if limit >= 0:
        wanted = wanted[:limit]
    assert found == (b"".join(written[i] for i in wanted), len(wanted), deltas[wanted[-1]] if wanted else -1)


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_each_operation(kernels: ModuleType, operation: Any) -> None:
    """Also what chance does not reach: every operation on every tricky piece of bytes."""
    rows = [
        (one, other, [(one, other), (other, None)], 5, 1) for one in TRICKY for other in (one, None, b"v")
    ]
    rows = [(k, v, [(n or b"", w) for n, w in h], t, g) for k, v, h, t, g in rows]
    payload, records, _ = made(rows, 0, None)
    facts = (0, 0, 5, 0, -1, -1, -1)
    extras = ([None, b"e", b""] * len(TRICKY), [b"x"] * len(rows))
    found, count, _ = kernels.render_records(
        payload, len(rows), (operation,), facts, 0, 1000, -1, bytearray(), extras
    )
    assert found == b"".join(render(records, (operation,), facts, extras))
    assert count == len(rows)


def test_a_timestamp_that_is_no_int64_is_refused(kernels: ModuleType) -> None:
    payload = plain.record(None, None, b"\0", 0, 1)
    with pytest.raises(CorruptRecordsError, match="not an int64"):
        kernels.render_records(payload, 1, (), (0, (1 << 63) - 1, 0, 0, 0, 0, 0), 0, 0, -1, b"", ())


@pytest.mark.parametrize("data", [b"", b"\x05", plain.record(b"k", b"v", b"\0", 0, 0) + b"x"])
def test_a_payload_that_is_not_what_the_count_says_is_refused(kernels: ModuleType, data: bytes) -> None:
    with pytest.raises(CorruptRecordsError):
        kernels.render_records(data, 1, (), (0,) * 7, 5, 4, -1, b"", ())


@pytest.mark.parametrize(
    "program",
    [
        ((99,),),
        ((op.NUMBER, 8),),
        ((op.BYTES, 2, op.RAW, b"", b""),),
        ((op.BYTES, 0, 99, b"", b""),),
        ((op.HEADERS, 99),),
        ((op.HEADERS, op.HEADERS_EACH, ((op.NUMBER, op.OFFSET),)),),
        ((op.HEADERS, op.HEADERS_EACH, ((op.TIME, b"", b"", b""),)),),
    ],
    ids=str,
)
def test_an_operation_that_does_not_exist_is_refused(kernels: ModuleType, program: Any) -> None:
    payload = plain.record(b"k", b"v", plain.header_block((("n", b"v"),)), 0, 0)
    with pytest.raises(ValueError, match=r"."):
        kernels.render_records(payload, 1, program, (0,) * 7, 0, 0, -1, b"", ())


@pytest.mark.parametrize(("selected", "extras"), [(b"\1\1", ()), (b"", ([b"x", b"y"],)), (b"", ([],))])
def test_a_selection_or_column_of_another_length_is_refused(
    kernels: ModuleType, selected: bytes, extras: Any
) -> None:
    payload = plain.record(b"k", b"v", b"\0", 0, 0)
    with pytest.raises(ValueError, match="as long as"):
        kernels.render_records(payload, 1, (), (0,) * 7, 0, 0, -1, selected, extras)
