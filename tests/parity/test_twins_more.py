"""Text, runs and rendering, both implementations side by side, on memory where nothing behind the input may be read."""

import random
import struct
import threading
from array import array
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from kcli.core.errors import CorruptRecordsError
from kcli.core.kernels import render_ops as op
from kcli.core.kernels.active import crc32c
from kcli.core.records.batch import CRC_START, HEADER_SIZE
from tests.parity import plain
from tests.parity.damage import ODD_BYTES, TRIALS, GuardedMemory, mutations
from tests.parity.test_render import OPERATIONS

Twins = tuple[ModuleType, ModuleType]

DELIMITERS = (b"\n", b"\0", b"\r\n", b"aa", b"aba", b"abaab", b"\n\n", b"ab")
KEY_DELIMITERS = (None, None, b":", b"a", b"=>", b"aa", b"\n")
MARKERS = (None, None, b"", b"a", b"NULL", b"b" * 40)
ENDLESS = 1 << 40


def outcome(function: Callable[..., object], *arguments: object) -> object:
    """The result with the type of everything in it, or the error with its words."""
    try:
        return repr(function(*arguments))
    except (CorruptRecordsError, ValueError) as error:
        return type(error), str(error), error.args


def assert_same(twins: Twins, name: str, *arguments: object) -> str | None:
    """What both give; None where both refuse."""
    pure, native = (outcome(getattr(twin, name), *arguments) for twin in twins)
    assert native == pure, (name, [bytes(a) if isinstance(a, memoryview) else a for a in arguments])
    return pure if isinstance(pure, str) else None


# --- rendering -----------------------------------------------------------------------------------------


def test_rendering_mutated_payloads(twins: Twins) -> None:
    memory = GuardedMemory(64_000)
    seeded = random.Random(11)
    accepted = 0
    for payload, count in mutations("render", TRIALS):
        data = memory.hold(payload)
        program = tuple(seeded.choice(OPERATIONS) for _ in range(seeded.randrange(6)))
        kind, base = seeded.choice((-1, 0, 1)), seeded.choice((0, 5, 1 << 62, (1 << 63) - 1, -(1 << 63)))
        extras = [[seeded.choice((None, b"", b"xy")) for _ in range(max(0, count))], [b"n"] * max(0, count)]
        selected = seeded.choice((b"", bytes(seeded.choice((0, 1)) for _ in range(max(0, count)))))
        facts = (base, base, 1_700_000_000_000, kind, -1, 7, 0)
        limits = seeded.randrange(-3, 70), seeded.choice((-1, 5, 8200, 1 << 70)), seeded.choice((-1, 0, 3))
        accepted += (
            assert_same(twins, "render_records", data, count, program, facts, *limits, selected, extras)
            is not None
        )
    assert TRIALS // 100 < accepted < TRIALS // 2


@pytest.mark.parametrize("form", range(op.NOT_TEXT + 1))
def test_bytes_of_every_length_and_kind(twins: Twins, form: int) -> None:
    """Around the words that are checked in one step, with something odd at each place in them."""
    odd = [
        b"",
        b'"',
        b"\\",
        b"\x1f",
        b"\x7f",
        b"\x80",
        b"\xc3\xa9",
        b"\xe2\x82\xac",
        b"\xf0\x9f\x98\x80",
        b"\xf0\x9f\x98",
    ]
    odd += [
        b"\xed\xa0\x80",
        b"\xe0\x9f\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf0\x8f\xbf\xbf",
        b"\xc1\xbf",
        b"\xff",
        b",",
        b"\r",
    ]
    program = ((op.BYTES, op.VALUE, form, b"NULL", b"*"), (op.LITERAL, b"\n"))
    memory = GuardedMemory(1 << 20)
    for what in odd:
        values = [
            b"x" * before + what + b"y" * behind for before in range(36) for behind in (0, 1, 7, 15, 16, 33)
        ]
        payload = b"".join(plain.record(None, one, b"\0", delta, 0) for delta, one in enumerate(values))
        assert assert_same(
            twins, "render_records", memory.hold(payload), len(values), program, (0,) * 7, 0, ENDLESS, -1, b"", ()
        )  # fmt: skip
        assert assert_same(
            twins, "render_records", memory.hold(plain.record(None, what, b"\0", 0, 0)), 1, program, (0,) * 7, 0, 0,
            -1, b"", (),
        )  # fmt: skip


@pytest.mark.parametrize("form", range(op.NOT_TEXT + 1))
@pytest.mark.parametrize("fill", [b"x", b"\x01", b'"', b"\xff", "\u20ac".encode(), b"\xe2\x82"])
def test_long_bytes(twins: Twins, form: int, fill: bytes) -> None:
    """Longer than the output is first made for, and than what is escaped in one step."""
    for size in (4095, 4096, 4097, 300_000):
        payload = plain.record(b"k", (fill * size)[:size], b"\0", 0, 0)
        program = ((op.BYTES, op.VALUE, form, b"", b"*"), (op.BYTES, op.KEY, form, b"", b""))
        assert assert_same(twins, "render_records", payload, 1, program, (0,) * 7, 0, 0, -1, b"", ())


@pytest.mark.parametrize("base", [0, 1, -1, (1 << 63) - 1, -(1 << 63), 253_402_300_799_999, 951_782_400_000])
def test_numbers_at_their_limits(twins: Twins, base: int) -> None:
    deltas = (0, 1, 9, 10, 99, 100, (1 << 31) - 1, -1, -(1 << 31))
    payload = b"".join(plain.record(None, None, b"\0", delta, 0) for delta in deltas)
    each = (
        (op.NUMBER, op.OFFSET), (op.NUMBER, op.OFFSET, b"-"), (op.NUMBER, op.TIMESTAMP), (op.TIME, b"<", b">", b"no"),
        (op.NUMBER, op.LEADER_EPOCH, b"none"), (op.NUMBER, op.PRODUCER_ID), (op.LITERAL, b"\n"),
    )  # fmt: skip
    facts = (base, base, base, 0, -1, (1 << 63) - 1, -(1 << 63))
    assert assert_same(
        twins, "render_records", payload, len(deltas), each, facts, -ENDLESS, ENDLESS, -1, b"", ()
    )


def test_every_day(twins: Twins) -> None:
    days = [day * 86_400_000 + 43_261_007 for day in range(0, 2_932_897, 97)]
    payload = b"".join(plain.record(None, None, b"\0", 0, day) for day in days)
    program = ((op.TIME, b"", b"\n", b""),)
    assert assert_same(twins, "render_records", payload, len(days), program, (0,) * 7, 0, 0, -1, b"", ())


@pytest.mark.parametrize(
    "program",
    [
        ((99,),), ((-1,),), ((op.NUMBER, 8),), ((op.NUMBER, -1),), ((op.BYTES, 2, op.RAW, b"", b""),),
        ((op.LENGTH, 2),), ((op.BYTES, 0, 99, b"", b""),), ((op.HEADERS, 99),), ((op.EXTRA, 0, (99,)),),
        ((op.HEADERS, op.HEADERS_EACH, ((op.NUMBER, op.OFFSET),)),),
        ((op.HEADERS, op.HEADERS_EACH, ((op.BYTES, 3, op.RAW, b"", b""),)),),
        ((op.HEADERS, op.HEADERS_EACH, ((op.BYTES, 0, 9, b"", b""),)),),
        ((op.HEADERS, op.HEADERS_EACH, ((op.TIME, b"", b"", b""),)),),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_programs_are_refused_in_the_same_words(twins: Twins, program: Any) -> None:
    good = plain.record(None, b"v", b"\0", 0, 0)
    far = (0, (1 << 63) - 1, 0, 0, 0, 0, 0)
    for payload, extras, facts in (
        (good, ([b"x"],), (0,) * 7),
        (good[:-1], ([b"x"],), (0,) * 7),  # the payload is told first
        (good, ([],), (0,) * 7),  # then columns of another length
        (plain.record(None, b"v", b"\0", 0, 1), ([b"x"],), far),  # then timestamps
    ):
        assert assert_same(twins, "render_records", payload, 1, program, facts, 0, 0, -1, b"", extras) is None


def test_programs_and_extras_of_other_types(twins: Twins) -> None:
    native = twins[1]
    payload = plain.record(None, b"v", b"\0", 0, 0)

    def call(program: Any, extras: Any = ()) -> object:
        return native.render_records(payload, 1, program, (0,) * 7, 0, 0, -1, b"", extras)

    for program, extras in (
        ([(op.LITERAL, b"")], ()), (([op.LITERAL, b""],), ()), (((op.LITERAL, "text"),), ()), (((op.LITERAL, None),), ()),
        (((op.EXTRA, 0),), ([5],)), (((op.EXTRA, 0),), ([None],)), (((op.EXTRA, 0),), 7), (((op.EXTRA, 0),), (7,)),
        (((op.EXTRA, "0"),), ([b""],)), (5, ()), ((5,), ()), (((op.HEADERS, op.HEADERS_EACH, 5),), ()),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            call(program, extras)
    for program in (
        ((op.LITERAL,),),
        ((op.BYTES, 0),),
        ((op.TIME, b""),),
        ((op.EXTRA, 1),),
        ((op.EXTRA, -1),),
        ((),),
    ):
        with pytest.raises(IndexError):
            call(program, ([b""],))
    deep: Any = (op.LITERAL, b"")
    for _ in range(100_000):
        deep = (op.EXTRA, 0, deep)
    with pytest.raises(RecursionError):
        call((deep,), ([None],))
    for twin in twins:
        found = twin.render_records(
            payload, 1, ((op.EXTRA, 0),), (0,) * 7, 0, 0, -1, b"", ([bytearray(b"x")],)
        )
        assert found == (b"x", 1, 0)


# --- runs ----------------------------------------------------------------------------------------------


def batch(payload: bytes, count: int, offset: int) -> bytes:
    body = struct.pack(">hiqqqhii", 0, max(0, count - 1), 0, 0, -1, -1, -1, count) + payload
    return struct.pack(">qiibI", offset, len(body) + 9, 3, 2, crc32c(body)) + body


def test_mutated_runs(twins: Twins) -> None:
    memory = GuardedMemory(128_000)
    seeded = random.Random(12)
    payloads = list(mutations("run", 200))
    accepted = 0
    for _ in range(TRIALS):
        some = [seeded.choice(payloads) for _ in range(seeded.randrange(1, 4))]
        data = bytearray(b"".join(batch(*one, 10 * index) for index, one in enumerate(some)))
        for _ in range(seeded.choice((0, 1, 1, 2))):
            data[seeded.randrange(HEADER_SIZE)] = seeded.choice(ODD_BYTES)
        view = memory.hold(data)
        verify = seeded.choice((True, False))
        assert_same(twins, "walk_batches", view, seeded.randrange(3), ENDLESS, False, verify)
        assert_same(twins, "walk_batches", view, 0, seeded.randrange(len(data)), True, verify)
        accepted += (
            assert_same(twins, "decode_run", view, seeded.randrange(-2, 20), 8200, b"|", b"NULL") is not None
        )
        assert_same(twins, "join_run", view)
    assert accepted > TRIALS // 200


@pytest.mark.parametrize("size", range(69))
def test_an_invalid_run_is_refused(twins: Twins, size: int) -> None:
    data = batch(plain.record(None, b"v", b"\0", 0, 0), 1, 0)
    assert (assert_same(twins, "decode_run", data[:size], 0, 9, b"", b"") is None) == bool(size)
    assert (
        assert_same(twins, "decode_run", data + data[:size], -(1 << 80), 1 << 80, b"", b"") is None
        or not size
    )


def test_the_checksum_is_of_all_behind_it(twins: Twins) -> None:
    data = bytearray(batch(plain.record(None, b"v", b"\0", 0, 0), 1, 0))
    for at in range(CRC_START, len(data)):
        data[at] ^= 1
        assert assert_same(twins, "walk_batches", bytes(data), 0, ENDLESS, True, True) == "(0, 0, 0, -1)"
        data[at] ^= 1


# --- text ----------------------------------------------------------------------------------------------


def random_text(seeded: random.Random) -> bytes:
    pieces = (
        b"a",
        b"b",
        b"ab",
        b"aba",
        b"\n",
        b"\r\n",
        b"\0",
        b":",
        b"=>",
        b"NULL",
        b"\xff",
        b"y" * 130,
        b"b" * 40,
    )
    return b"".join(seeded.choice(pieces) for _ in range(seeded.randrange(30)))


def test_random_texts(twins: Twins) -> None:
    memory = GuardedMemory(8000)
    seeded = random.Random(13)
    for _ in range(TRIALS):
        text = memory.hold(random_text(seeded))
        start = seeded.randrange(3)
        end = len(text) - seeded.randrange(2)
        cut = seeded.choice(DELIMITERS), seeded.choice(KEY_DELIMITERS)
        key, marker, empty = seeded.choice((None, b"", b"key")), seeded.choice(MARKERS), seeded.random() < 0.3
        longest, room = seeded.choice((0, 5, 200, ENDLESS, -1)), seeded.choice((0, 20, 100, 400, ENDLESS, -1))
        first, time = seeded.choice((0, 60, 8190)), seeded.choice((0, -1, 1 << 50))
        headers = seeded.choice((b"\0", b"", plain.header_block((("h", b"v"),))))
        region = bytes(text), start, max(start, end)  # the pure twin searches in bytes only
        found = []
        for twin, own in zip(twins, (region[0], text), strict=True):
            found.append(
                outcome(
                    twin.encode_text,
                    own,
                    *region[1:],
                    *cut,
                    key,
                    headers,
                    marker,
                    empty,
                    first,
                    time,
                    room,
                    longest,
                )
            )
            found.append(outcome(twin.index_text, own, *region[1:], *cut, marker, empty, longest))
        assert found[:2] == found[2:], (region, cut, key, marker, empty, longest, room)
        if start <= len(text):
            slices = twins[0].index_text(*region, *cut, marker, empty, longest)[0]
            partitions = seeded.choice((1, 3, 5000))
            sticky = seeded.choice((0, 0, partitions - 1, partitions, -1, 1 << 40))
            assert_same(twins, "group_slices", text, slices, partitions, sticky)
            at = seeded.randrange(4)
            assert_same(twins, "encode_slices", text, slices, at, headers, first, time, room)


@pytest.mark.parametrize(
    "how", [(None, None, None, False), (b":", None, None, False), (None, b"k", b"b", True)], ids=str
)
def test_every_small_room_and_length(twins: Twins, how: Any) -> None:
    text = b"a:\n\nb\nk:" + b"v" * 60 + b"\n" + b"w" * 64 + b"\n:\n" + b"x" * 130 + b"\nlast"
    key_delimiter, key, marker, empty = how
    for room in range(420):
        assert_same(
            twins, "encode_text", text, 0, len(text), b"\n", key_delimiter, key, b"\0", marker, empty, 62, 0, room, 999
        )  # fmt: skip
    for longest in range(140):
        tail = (0, 0, ENDLESS, longest)
        assert_same(
            twins, "encode_text", text, 0, len(text), b"\n", key_delimiter, key, b"\0", marker, empty, *tail
        )
        assert_same(twins, "index_text", text, 0, len(text), b"\n", key_delimiter, marker, empty, longest)


@pytest.mark.parametrize(
    "key", [None, b"", b"k" * 14, b"k" * 15, b"k" * 16, b"k" * 300], ids=lambda k: str(k and len(k))
)
def test_regions_whose_first_lines_say_little_of_the_rest(twins: Twins, key: bytes | None) -> None:
    """Memory is estimated by them; lines of values end where the text does, where numbers get long, or are long."""
    few, many = b"x" * 1000 + b"\n", b"y\n" * 9000
    long = b"z" * (1 << 19) + b"\n"
    for text in (
        few * 40 + many,
        many[:100] + few * 40,
        many + long + many,
        long,
        few * 300 + b"end",
        few[:-1],
    ):
        for headers, delta in ((b"\0", 0), (b"\0", 1 << 50), (b"\2\2a\1", 3)):
            for first in (0, 60, (1 << 20) - 50, 1 << 30):
                where = (text, 0, len(text), b"\n", None, key, headers, None, False, first, delta)
                assert_same(twins, "encode_text", *where, 1_000_000, 1 << 30)


def test_null_markers_that_are_longer_than_the_room(twins: Twins) -> None:
    marker = b"m" * 300
    text = marker + b":" + marker + b"\nrest\n"
    for room in (0, 6, 7, 8, 14, 15):
        assert_same(
            twins, "encode_text", text, 0, len(text), b"\n", b":", None, b"\0", marker, False, 0, 0, room, 999
        )


def test_regions_that_are_not_in_the_text(twins: Twins) -> None:
    rest = (None, b"\0", None, False, 0, 0, 99, 99)
    for start, end, delimiter, key_delimiter in (
        (-1, 2, b"\n", None), (0, 4, b"\n", None), (0, 2, b"", None), (0, 2, b"\n", b""), (9, 9, b"\n", None),
    ):  # fmt: skip
        assert assert_same(twins, "encode_text", b"a\nb", start, end, delimiter, key_delimiter, *rest) is None
        assert (
            assert_same(twins, "index_text", b"a\nb", start, end, delimiter, key_delimiter, None, False, 9)
            is None
        )
    assert assert_same(twins, "encode_text", b"a\nb", 2, 1, b"\n", None, *rest) == "(bytearray(b''), 0, 2)"
    assert assert_same(twins, "group_slices", b"", b"", 0, 0) is None


def test_slices_that_are_not_in_the_text(native: ModuleType) -> None:
    for wrong in (
        (0, 4, 0, 1),
        (3, 1, 0, 1),
        (-1, 1, 0, 0),
        (0x7FFFFFFF, 0x7FFFFFFF, 0, -1),
        (0, 1, 1, 9),
        (0, 1, -4, 3),
    ):
        slices = array("i", (0, 1, 1, 2, *wrong)).tobytes()
        with pytest.raises(ValueError, match="slice 1 is not in the text"):
            native.encode_slices(b"abc", slices, 0, b"\0", 0, 0, ENDLESS)
        if wrong[:2] != (0, 1):
            with pytest.raises(ValueError, match="slice 1 is not in the text"):
                native.group_slices(b"abc", slices, 3, 0)
    for call in (
        lambda: native.group_slices(b"abc", bytes(15), 3, 0),
        lambda: native.encode_slices(b"abc", bytes(17), 0, b"\0", 0, 0, 9),
        lambda: native.encode_slices(b"abc", b"", -1, b"\0", 0, 0, 9),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are of no weight
            call()


def test_wrong_types_are_refused(native: ModuleType) -> None:
    rest = (None, b"\0", None, False, 0, 0, 99, 99)
    for call in (
        lambda: native.encode_text("text", 0, 1, b"\n", None, *rest),
        lambda: native.encode_text(b"text", 0, 1, None, None, *rest),
        lambda: native.encode_text(b"text", 0, 1, b"\n", "k", *rest),
        lambda: native.encode_text(b"text", 0, 1, b"\n", None, "k", *rest[1:]),
        lambda: native.encode_text(b"text", 0, 1, b"\n", None, None, None, *rest[2:]),
        lambda: native.encode_text(b"text", 0, 1),
        lambda: native.index_text(b"text", 0, "1", b"\n", None, None, False, 9),
        lambda: native.group_slices("text", b"", 3, 0),
        lambda: native.encode_slices(b"text", "", 0, b"\0", 0, 0, 9),
        lambda: native.decode_run("text", 0, 1, b"", b""),
        lambda: native.decode_run(b"", 0, 1, None, b""),
        lambda: native.walk_batches("text", 0, 1, False, False),
        lambda: native.render_records("text", 0, (), (0,) * 7, 0, 0, 0, b"", ()),
        lambda: native.render_records(b"", 0, (), (None,) * 7, 0, 0, 0, b"", ()),
    ):
        with pytest.raises(TypeError):
            call()


def test_references_are_given_back(native: ModuleType) -> None:
    import sys

    text, extra = bytearray(b"key:value\n" * 9), bytes([9]) * 50
    program = ((op.EXTRA, 0), (op.LITERAL, extra), (op.HEADERS, op.HEADERS_EACH, ((op.LITERAL, extra),)))
    column: list[Any] = [extra] * 3
    payload = b"".join(plain.record(b"k", b"v", b"\0", delta, 0) for delta in range(3))
    tracked = (extra, column, program, payload, program[2])
    before = [sys.getrefcount(one) for one in tracked]
    for limit in (-1, 0, 2):
        for good in (payload, payload[:-1], bytearray(payload)):
            outcome(native.render_records, good, 3, program, (0,) * 7, 0, 9, limit, b"", (column,))
            outcome(native.render_records, good, 3, (*program, (99,)), (0,) * 7, 0, 9, limit, b"", (column,))
    column[1] = 5
    with pytest.raises(TypeError):
        native.render_records(payload, 3, program, (0,) * 7, 0, 9, -1, b"", (column,))
    column[1] = extra
    slices = native.index_text(text, 0, len(text), b"\n", b":", None, False, 99)[0]
    for wrong in (b"", b"\n"):
        outcome(
            native.encode_text, text, 0, len(text), wrong, b":", extra, extra, extra, False, 0, 0, 999, 999
        )
    native.group_slices(text, slices, 3, 0)
    native.encode_slices(text, slices, 0, extra, 0, 0, 999)
    outcome(native.group_slices, bytearray(3), slices, 3, 0)
    outcome(native.encode_slices, bytearray(3), slices, 0, extra, 0, 0, 999)
    outcome(native.decode_run, text, 0, 0, extra, extra)
    assert [sys.getrefcount(one) for one in tracked] == before
    text.extend(b"!")  # no buffer of it is held any more


def test_many_threads_at_once(native: ModuleType) -> None:
    text = b"".join(b"k%d:%0100d\n" % (index, index) for index in range(3000))
    program = (
        (op.NUMBER, op.OFFSET),
        (op.BYTES, op.VALUE, op.JSON, b"", b""),
        (op.EXTRA, 0),
        (op.LITERAL, b"\n"),
    )
    extras = ([b"%d" % index for index in range(3000)],)

    def work() -> tuple[object, ...]:
        encoded = native.encode_text(
            text, 0, len(text), b"\n", b":", None, b"\0", None, False, 0, 0, ENDLESS, 999
        )
        slices = native.index_text(text, 0, len(text), b"\n", b":", None, False, 999)[0]
        groups = native.group_slices(text, slices, 7, 0)
        own = [native.encode_slices(text, one, 0, b"\0", 0, 0, ENDLESS) for _, one, _ in groups]
        rendered = native.render_records(encoded[0], 3000, program, (0,) * 7, 0, 3000, -1, b"", extras)
        run = batch(encoded[0], 3000, 0)
        return (
            encoded,
            groups,
            own,
            rendered,
            native.walk_batches(run, 0, 1, False, True),
            native.decode_run(run, 0, 9999, b"", b""),
        )

    expected = work()
    wrong: list[object] = []

    def repeat() -> None:
        wrong.extend(1 for _ in range(20) if work() != expected)

    threads = [threading.Thread(target=repeat) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
