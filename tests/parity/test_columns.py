"""Records of Arrow columns: every implementation gives what the plain twin gives for the same rows."""

from array import array
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.parity import plain
from tests.parity.arrow_layout import Fields, Layout, block_of

shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

VALUES = st.one_of(st.none(), st.binary(max_size=20), st.integers(0, 9_000).map(bytes))
NAMES = st.one_of(st.text(max_size=4), st.binary(max_size=4))
HEADERS = st.one_of(st.none(), st.lists(st.tuples(NAMES, VALUES), max_size=4))
TIMES = st.one_of(st.none(), st.just(-1), st.integers(0, (1 << 63) - 1))
FIELDS = st.tuples(VALUES, VALUES, HEADERS, TIMES)
ROWS = st.lists(FIELDS, max_size=20)
ROOMS = st.one_of(st.integers(-1, 300), st.integers(0, 30_000), st.just(1 << 40), st.just(1 << 70))
SEEDS = st.integers(0, 1 << 32)
NOW = 1_700_000_000_000


def block(fields: Fields) -> bytes:
    return block_of(fields[2]) or b"\0"


def stamp(fields: Fields) -> int:
    return NOW if fields[3] is None else fields[3]


def chosen_of(rows: list[Fields], seed: int) -> list[int] | None:
    """All rows, or some of them in any order."""
    return None if seed % 3 == 0 or not rows else [(seed >> 3) * at % len(rows) for at in range(seed % 30)]


def packed(chosen: list[int] | None) -> bytes | None:
    return None if chosen is None else array("i", chosen).tobytes()


@shared
@given(ROWS, SEEDS, st.booleans(), st.sampled_from([0, 62, 8190]), st.none() | TIMES, ROOMS)
def test_records(
    kernels: ModuleType,
    rows: list[Fields],
    seed: int,
    block_form: bool,
    first: int,
    base: int | None,
    room: int,
) -> None:
    chosen = chosen_of(rows, seed)
    some = rows if chosen is None else [rows[row] for row in chosen]
    start = seed % (len(some) + 1)
    stop = start + (seed >> 4) % (len(some) - start + 1)
    wanted = some[start:stop]
    origin = base if base is not None else stamp(wanted[0]) if wanted else 0
    records = []
    for delta, fields in enumerate(wanted, first):
        if not -(1 << 63) <= stamp(fields) - origin < 1 << 63:
            break
        records.append(plain.record(fields[0], fields[1], block(fields), delta, stamp(fields) - origin))
    expected, taken, size = plain.fill(records, room)
    times = [stamp(fields) for fields in wanted[:taken]]

    columns = Layout(seed).records(rows, block_form)
    found = kernels.encode_columns(columns, packed(chosen), start, stop, first, base, NOW, room)

    assert found == (expected, taken, size, times[0] if times else -1, max(times, default=-1))


@shared
@given(ROWS, SEEDS, st.booleans(), ROOMS, st.sampled_from([0, 40, 300, 1 << 40]))
def test_sizes(
    kernels: ModuleType, rows: list[Fields], seed: int, block_form: bool, room: int, longest: int
) -> None:
    chosen = chosen_of(rows, seed)
    some = rows if chosen is None else [rows[row] for row in chosen]
    sizes = [len(one[0] or b"") + len(one[1] or b"") + len(block(one)) + 32 for one in some]
    start = seed % (len(some) + 1)
    at, size = start, 0
    while at < len(some) and sizes[at] <= longest and (at == start or size + sizes[at] <= room):
        size += sizes[at]
        at += 1
    if at == start and at < len(some):
        size = sizes[at]

    columns = Layout(seed).records(rows, block_form)
    assert kernels.measure_columns(columns, packed(chosen), start, len(some), room, longest) == (at, size)


@shared
@given(ROWS, SEEDS, st.booleans(), st.sampled_from([1, 3, 5000]))
def test_partitions(kernels: ModuleType, rows: list[Fields], seed: int, named: bool, partitions: int) -> None:
    sticky = seed % 4 - 1
    own = [None if (seed + row) % 3 else (seed + row) % 7 - 2 for row in range(len(rows))]
    chosen = chosen_of(rows, seed)
    groups: dict[int, list[int]] = {}
    for row in range(len(rows)) if chosen is None else chosen:
        key = rows[row][0]
        by_key = sticky if key is None else (plain.murmur2(key) & 0x7FFFFFFF) % partitions
        number = own[row] if named else None
        groups.setdefault(by_key if number in (None, -1) else number, []).append(row)

    layout = Layout(seed)
    column = layout.numbers(own, 4 if seed % 2 else 8) if named else None
    count = len(rows) if chosen is None else len(chosen)
    found = kernels.group_columns(layout.records(rows), column, packed(chosen), 0, count, partitions, sticky)

    assert [(number, array("i", own).tolist()) for number, own in found] == sorted(groups.items())


@shared
@given(
    st.lists(st.sampled_from([None, b"", b"orders", b"a topic with a long name", b"b"]), max_size=90), SEEDS
)
def test_values(kernels: ModuleType, values: list[bytes | None], seed: int) -> None:
    groups: dict[bytes | None, list[int]] = {}
    for row, value in enumerate(values):
        groups.setdefault(value, []).append(row)

    found = kernels.group_values(Layout(seed).bytes_column(values), len(values), None, 0, len(values))

    assert [(value, array("i", own).tolist()) for value, own in found] == list(groups.items())


def test_many_values_are_found_again(kernels: ModuleType) -> None:
    values = [b"%d" % (row * 7919 % 1500) for row in range(6000)]
    found = kernels.group_values(Layout(1).bytes_column(values, 16), 6000, None, 0, 6000)

    assert [value for value, _ in found] == list(dict.fromkeys(values))
    assert all(values[row] == value for value, own in found for row in array("i", own))


@pytest.mark.parametrize("packed_headers", [False, True])
def test_many_rows_fill_batch_after_batch(kernels: ModuleType, packed_headers: bool) -> None:
    rows: list[Fields] = [
        (b"k%d" % row, bytes(row * 7 % 140), [("n", b"v" * (row % 3))], NOW + row) for row in range(6_000)
    ]
    columns = Layout(4).records(rows, packed_headers)
    start = 0
    while start < len(rows):
        records, taken, size, first, latest = kernels.encode_columns(
            columns, None, start, len(rows), 0, None, 0, 100_000
        )
        last = rows[start + taken - 1]
        assert size == len(records) <= 100_000
        assert (first, latest) == (NOW + start, NOW + start + taken - 1)
        assert records.endswith(plain.record(last[0], last[1], block(last), taken - 1, taken - 1))
        start += taken


@pytest.mark.parametrize(
    ("times", "per", "stored", "expected"),
    [
        (1000, 1, 1_700_000_000, 1_700_000_000_000),
        (1, 1000, 1_700_000_000_123_999, 1_700_000_000_123),
        (1, 1_000_000, 999_999, 0),
        (1, 1, -1, -1),
    ],
)
def test_units_of_timestamps(kernels: ModuleType, times: int, per: int, stored: int, expected: int) -> None:
    layout = Layout(2)
    columns = layout.records([(None, b"v", None, 0)])._replace(
        timestamps=layout.numbers([stored], 8, times, per)
    )
    assert kernels.encode_columns(columns, None, 0, 1, 0, None, NOW, 1000)[3:] == (expected, expected)


def test_a_row_whose_timestamp_is_too_far_from_the_base_waits_for_the_next_batch(kernels: ModuleType) -> None:
    columns = Layout(3).records([(None, b"a", None, -1), (None, b"b", None, (1 << 63) - 1)])
    assert kernels.encode_columns(columns, None, 0, 2, 0, None, NOW, 1000)[1] == 1
