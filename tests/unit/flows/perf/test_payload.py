"""The values of a load: of the sizes and the kind that were asked for, numbered in place, the same in each run."""

from __future__ import annotations

import os
import random
import zlib
from pathlib import Path

import pytest

from kcli.core.errors import ConfigError
from kcli.flows.perf.marks import MARK_SIZE, mark
from kcli.flows.perf.payload import Keys, Payload, Values, can_be_marked


def lines(payload: Payload, first: int, stop: int) -> list[bytes]:
    """The values, by the positions that ``take`` returns."""
    found = []
    for _ in range(stop):
        portion = payload.take(1)
        found.append(bytes(payload.text[portion.start : portion.end]).removesuffix(payload.delimiter))
    return found[first:]


def test_values_are_reproducible_and_differ_between_producers() -> None:
    one, same, other = (Payload(Values(5, 9), seed) for seed in (1, 1, 2))
    assert one.text == same.text != other.text
    values = bytes(one.text).splitlines()
    assert {len(value) for value in values} == {5, 6, 7, 8, 9}
    assert set(one.text) == set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ\n")


def test_portions_follow_each_other_and_begin_again() -> None:
    payload = Payload(Values(5, 9), 1)
    values = bytes(payload.text).splitlines()
    taken = 0
    while taken < len(values):
        portion = payload.take(10_000)
        cut = bytes(payload.text[portion.start : portion.end]).splitlines()
        assert cut == values[taken : taken + portion.records]
        assert payload.size(portion.first, portion.stop) == sum(map(len, cut))
        taken += portion.records
    assert payload.take(1)[:2] == (0, 1)


def test_all_sizes_are_about_equally_frequent() -> None:
    payload = Payload(Values(10, 13), 7)
    sizes = [len(value) for value in bytes(payload.text).splitlines()]
    counts = [sizes.count(size) for size in (10, 11, 12, 13)]
    assert sum(counts) == len(sizes)
    assert max(counts) < 1.05 * min(counts)
    assert payload.mean_size == pytest.approx(11.5, abs=0.1)
    assert payload.largest == 13


@pytest.mark.parametrize("seed", range(20))
def test_a_few_large_values_are_spread_over_the_whole_range(seed: int) -> None:
    """Eight of half a megabyte are prepared: drawn one by one, their mean would be off by a fifth now and then."""
    payload = Payload(Values(1, 1_000_000), seed)
    sizes = sorted(payload.size_of(number) for number in range(8))
    assert payload.size_of(8) == payload.size_of(0)
    assert all(number <= size / 125_000 <= number + 1 for number, size in enumerate(sizes))
    assert abs(payload.mean_size - 500_000) < 62_500


@pytest.mark.parametrize("sizes", [(MARK_SIZE, MARK_SIZE), (40, 60)])
def test_marks_are_numbered_in_place(sizes: tuple[int, int]) -> None:
    payload = Payload(Values(*sizes), 3, (0xABC, 5))
    portion = payload.take(50)
    payload.number(portion, 1_000)
    values = bytes(payload.text[portion.start : portion.end]).splitlines()
    assert [value[:MARK_SIZE] for value in values] == [mark(0xABC, 5, 1_000 + at) for at in range(50)]
    again = Payload(Values(*sizes), 3, (0xABC, 5))
    assert [value[MARK_SIZE:] for value in values] == [value[MARK_SIZE:] for value in lines(again, 0, 50)]


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 1.0])
def test_values_compress_by_the_share_that_was_asked_for(share: float) -> None:
    payload = Payload(Values(1_000, 1_000, share), 1)
    part = bytes(payload.text[: 500 * 1_001])
    left = len(zlib.compress(part)) / len(part)
    assert left == pytest.approx(1 - share, abs=0.04)
    assert {len(value) for value in part.split(b"\n")} == {1_000, 0}


def test_the_lines_of_a_file_are_sent_in_order_and_over_and_over(tmp_path: Path) -> None:
    file = tmp_path / "values"
    file.write_bytes(b"one\n\nthree")
    payload = Payload(Values(1, 1, file=str(file)), 9)
    assert lines(payload, 0, 7) == [b"one", b"", b"three", b"one", b"", b"three", b"one"]
    assert payload.mean_size == pytest.approx(8 / 3)
    assert payload.largest == 5
    assert payload.take(1_000).records == 1_000


def test_values_of_a_file_may_have_newlines_and_another_delimiter(tmp_path: Path) -> None:
    file = tmp_path / "values"
    file.write_bytes(b"a\nb--c--")
    payload = Payload(Values(1, 1, file=str(file), delimiter=b"--"), 9)
    assert lines(payload, 0, 3) == [b"a\nb", b"c", b"a\nb"]


def test_positions_in_a_file_are_those_of_a_plain_split(tmp_path: Path) -> None:
    chance = random.Random(4)
    values = [chance.randbytes(chance.randrange(80)).replace(b";", b"") for _ in range(3_000)]
    file = tmp_path / "values"
    file.write_bytes(b"".join(value + b";" for value in values))
    payload = Payload(Values(1, 1, file=str(file), delimiter=b";"), 9)
    assert lines(payload, 0, 4_000) == values + values[:1_000]


def test_a_file_without_values_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "empty"
    file.touch()
    with pytest.raises(ConfigError, match="empty"):
        Payload(Values(1, 1, file=str(file)), 0)


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match="not a regular file"):
        Payload(Values(1, 1, file=str(pipe)), 0)


def test_values_have_room_for_a_mark_or_not() -> None:
    assert can_be_marked(Values(MARK_SIZE, 100))
    assert not can_be_marked(Values(MARK_SIZE - 1, 100))
    assert not can_be_marked(Values(100, 100, file="f"))


def keyed(payload: Payload, count: int) -> list[tuple[bytes, bytes]]:
    """Keys and values of the first lines."""
    found = [line.partition(b"\t") for line in lines(payload, 0, count)]
    return [(key, value) for key, _, value in found]


@pytest.mark.parametrize("count", [1, 7, 100_000])
def test_keys_of_a_range_go_on_where_the_text_begins_again(count: int) -> None:
    payload = Payload(Values(100, 100, keys=Keys(count, at_random=False)), 1)
    rounds = 2 * (payload.text.count(b"\n") // count) + 1
    taken = keyed(payload, min(rounds * count, 250_000))
    assert [key for key, _ in taken] == [b"%d" % (number % count) for number in range(len(taken))]
    assert {len(value) for _, value in taken} == {100}
    assert payload.size_of(0) == 100
    assert payload.size(0, 50) == 5_000


def test_random_keys_are_reproducible_by_their_seed() -> None:
    one, same, other = (
        keyed(Payload(Values(20, 20, keys=Keys(5, at_random=True), seed=seed), 1), 1_000)
        for seed in (3, 3, 4)
    )
    assert one == same != other
    assert {key for key, _ in one} == {b"0", b"1", b"2", b"3", b"4"}


def test_values_behind_keys_are_marked() -> None:
    payload = Payload(Values(40, 40, keys=Keys(12, at_random=False)), 3, (0xABC, 5))
    portion = payload.take(20)
    payload.number(portion, 100)
    text = bytes(payload.text[portion.start : portion.end])
    assert [line.partition(b"\t")[2][:MARK_SIZE] for line in text.splitlines()] == [
        mark(0xABC, 5, 100 + number) for number in range(20)
    ]


def test_lines_of_a_file_get_keys(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"a;bb;ccc")
    payload = Payload(Values(1, 1, file=str(file), delimiter=b";", keys=Keys(2, at_random=False)), 0)
    assert keyed(payload, 4) == [(b"0", b"a"), (b"1", b"bb"), (b"0", b"ccc"), (b"1", b"a")]


def test_more_bytes_than_fit_are_refused() -> None:
    with pytest.raises(ConfigError, match="range:20000000 need"):
        Payload(Values(1_000, 1_000, keys=Keys(20_000_000, at_random=False)), 0)
