"""The two implementations side by side: what one gives, refuses and says, the other does word for word."""

import random
import threading
from collections.abc import Callable
from types import ModuleType

import pytest

from kcli.core.errors import CorruptRecordsError
from tests.parity import plain
from tests.parity.damage import BLOCKS, TRIALS, GuardedMemory, mutations
from tests.parity.test_decode import GOOD, MALFORMED

Twins = tuple[ModuleType, ModuleType]


def outcome(function: Callable[..., object], *arguments: object) -> object:
    """The result with the type of everything in it, or the error with its words."""
    try:
        return repr(function(*arguments))
    except CorruptRecordsError as error:
        return error.what, error.why, error.do, error.args


def assert_same(twins: Twins, name: str, data: memoryview | bytes, *arguments: object) -> object:
    pure, native = (outcome(getattr(twin, name), data, *arguments) for twin in twins)
    assert native == pure, (name, bytes(data), arguments)
    return pure


def test_both_have_the_same_functions(twins: Twins) -> None:
    pure, native = twins
    assert {name for name in dir(native) if not name.startswith("_")} == {*pure.__all__, "crc32c_tables"}


@pytest.mark.parametrize("before", [0, 3, 40])
@pytest.mark.parametrize("bad", MALFORMED.values(), ids=MALFORMED.keys())
@pytest.mark.parametrize("behind", [b"", GOOD, bytes(300)], ids=["", "record", "zeros"])
def test_malformed_records(twins: Twins, bad: bytes, before: int, behind: bytes) -> None:
    payload = (
        b"".join(plain.record(None, bytes(30), b"\0", delta, 0) for delta in range(before)) + bad + behind
    )
    for count in (before + 1, before + 2):
        assert_same(twins, "decode_columns", payload, count)
        assert_same(twins, "decode_values", payload, count, 0, 1 << 31, b"\n", b"")


@pytest.mark.parametrize("count", [-1, 0, 1, 2, 3, (1 << 31) - 1, (1 << 63) - 1, -(1 << 63)])
def test_counts(twins: Twins, count: int) -> None:
    assert_same(twins, "decode_columns", GOOD, count)
    assert_same(twins, "decode_values", GOOD, count, 0, 0, b"\n", b"")


def test_mutated_payloads(twins: Twins) -> None:
    """Same verdict and same words from both, on memory where nothing behind the payload may be read."""
    memory = GuardedMemory(64_000)
    accepted = 0
    for payload, count in mutations("twins", TRIALS):
        data = memory.hold(payload)
        columns = assert_same(twins, "decode_columns", data, count)
        values = assert_same(twins, "decode_values", data, count, 3, 8200, b"|", b"NULL")
        assert isinstance(columns, str) == isinstance(values, str)
        if isinstance(columns, tuple):
            assert columns == values
        accepted += isinstance(columns, str)
    assert TRIALS // 50 < accepted < TRIALS // 2


def test_mutated_header_blocks(twins: Twins) -> None:
    memory = GuardedMemory(1000)
    seeded = random.Random(5)
    accepted = 0
    for trial in range(TRIALS):
        block = bytearray(BLOCKS[trial % 3] * seeded.choice((1, 1, 2)))
        for _ in range(seeded.randrange(4)):
            block[seeded.randrange(len(block))] = seeded.choice((0, 1, 2, 3, 4, 0x7F, 0x80, 0xFF))
        start = seeded.randrange(3)
        data = memory.hold(bytes(start) + block[: seeded.randrange(len(block) + 1)])
        end = len(data) + seeded.choice((0, 0, 0, -1, 5))
        accepted += isinstance(assert_same(twins, "decode_headers", data, start, max(start, end)), str)
    assert TRIALS // 50 < accepted < TRIALS


def test_garbage(twins: Twins) -> None:
    memory = GuardedMemory(1000)
    seeded = random.Random(6)
    for _ in range(TRIALS // 10):
        data = memory.hold(seeded.randbytes(seeded.randrange(100)))
        count = seeded.randrange(len(data) // 7 + 1)
        assert_same(twins, "decode_columns", data, count)
        assert_same(twins, "decode_values", data, count, 0, 1 << 31, b"", b"")
        assert_same(twins, "decode_headers", data, 0, len(data))


def test_limits_beyond_64_bits(twins: Twins) -> None:
    huge = 1 << 70
    assert_same(twins, "decode_values", GOOD, 1, -huge, huge, b"\n", b"")
    assert_same(twins, "decode_values", GOOD, 1, huge, -huge, b"\n", b"")
    for room in (huge, -huge, -1):
        for twin in twins:
            taken = twin.encode_lines([b"a"] * 9, 0, 0, 0, None, b"\0", room)[1]
            assert taken == (9 if room > 0 else 0)


@pytest.mark.parametrize("base", [1 << 80, -(1 << 80), (1 << 63) - 1, -(1 << 63)])
def test_timestamps_are_compared_before_they_are_cut_to_64_bits(twins: Twins, base: int) -> None:
    rows = [(None, b"a", b"\0", base), (None, b"b", b"\0", base + 1), (None, b"c", b"\0", -base)]
    pure, native = (twin.encode_rows(rows, 0, 0, base, 1000) for twin in twins)
    assert native == pure
    assert pure[1] == 2


@pytest.mark.parametrize("other", [bytearray, memoryview])
def test_other_kinds_of_buffers(twins: Twins, other: Callable[[bytes], object]) -> None:
    for twin in twins:
        assert twin.encode_record(other(b"k"), other(b"v"), b"\0", 1, 2) == plain.record(
            b"k", b"v", b"\0", 1, 2
        )
        assert twin.encode_lines([other(b"v")] * 2, 1, 5, 0, None, b"\0", 99)[0] == plain.record(
            None, b"v", b"\0", 5, 0
        )


def test_a_value_that_is_not_bytes_is_refused(native: ModuleType) -> None:
    for call in (
        lambda: native.encode_lines(["text"], 0, 0, 0, None, b"\0", 99),
        lambda: native.encode_lines([b"x"], 0, 0, 0, None, None, 99),
        lambda: native.encode_keyed([b"k", 1], [b"v", b"v"], 0, 0, 0, b"\0", 99),
        lambda: native.encode_rows([(None, 5, b"\0", 0)], 0, 0, 0, 99),
        lambda: native.encode_rows([5], 0, 0, 0, 99),
        lambda: native.encode_rows([(None, b"", b"\0", "now")], 0, 0, 0, 99),
        lambda: native.encode_record(5, b"", b"\0", 0, 0),
        lambda: native.encode_headers([("name", "value")]),
        lambda: native.encode_headers(7),
        lambda: native.decode_values("text", 1, 0, 0, b"", b""),
        lambda: native.decode_columns(b""),
        lambda: native.murmur2("text"),
        lambda: native.partition_keys([None], 3),
        lambda: native.crc32c("text"),
    ):
        with pytest.raises(TypeError):
            call()


def test_wrong_values(twins: Twins) -> None:
    for twin in twins:
        with pytest.raises(ValueError, match="must be positive, got 0"):
            twin.partition_keys([b"k"], 0)
        with pytest.raises(UnicodeEncodeError):
            twin.encode_headers([("\ud800", b"")])
        with pytest.raises(ValueError):  # noqa: PT011 - Python's own words in one of them
            twin.encode_headers([("name", b"", b"")])


def test_a_failing_sequence_hands_its_error_on(native: ModuleType) -> None:
    class Broken(list[bytes]):
        def __getitem__(self, index: object) -> bytes:  # type: ignore[override]
            if index == 500:
                raise LookupError("gone")
            return b"line"

    class Sequence:
        def __len__(self) -> int:
            return 1000

        __getitem__ = Broken.__getitem__

    with pytest.raises(LookupError, match="gone"):
        native.encode_lines(Sequence(), 0, 0, 0, None, b"\0", 1 << 20)


def test_lists_that_are_emptied_meanwhile(native: ModuleType) -> None:
    """A kernel that gave the GIL away holds what it reads."""
    expected = native.encode_lines(
        [b"%0500d" % index for index in range(4000)], 0, 0, 0, None, b"\0", 1 << 30
    )
    for _ in range(20):
        lines = [b"%0500d" % index for index in range(4000)]
        emptier = threading.Thread(target=lines.clear)
        emptier.start()
        try:
            found = native.encode_lines(lines, 0, 0, 0, None, b"\0", 1 << 30)
        except IndexError:
            continue  # emptied between two lines
        finally:
            emptier.join()
        assert found in {expected, (b"", 0, 0)}


def test_many_threads_at_once(native: ModuleType) -> None:
    lines = [b"%0100d" % index for index in range(3000)]
    encoded = native.encode_lines(lines, 0, 0, 0, None, b"\0", 1 << 30)
    text = b"".join(line + b"\n" for line in lines)
    wrong: list[object] = []

    def work() -> None:
        for _ in range(40):
            if native.encode_lines(lines, 0, 0, 0, None, b"\0", 1 << 30) != encoded:
                wrong.append("encoded")
            if native.decode_values(encoded[0], 3000, 0, 3000, b"\n", b"") != (text, 3000):
                wrong.append("decoded")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_references_are_given_back(native: ModuleType) -> None:
    import sys

    line, key, block = bytes([7]) * 300, bytes([8]) * 30, plain.header_block((("h", b"v" * 9),))
    before = [sys.getrefcount(one) for one in (line, key, block)]
    for room in (0, 1000, 1 << 20):
        native.encode_lines([line] * 9, 0, 0, 0, key, block, room)
        native.encode_keyed([key, None] * 9, [line, None] * 9, 0, 0, 0, block, room)
        native.encode_rows([(key, line, block, 1)] * 9, 0, 0, 0, room)
        native.encode_headers([(key, line), (key, None)])
        with pytest.raises(TypeError):
            native.encode_keyed([key, key], [line, 5], 0, 0, 0, block, room + 1000)
    native.partition_keys([key, line], 5)
    native.encode_record(key, line, block, 0, 0)
    native.crc32c_patch(0, line, line, 5)
    native.decode_headers(block, 0, len(block))
    assert [sys.getrefcount(one) for one in (line, key, block)] == before
