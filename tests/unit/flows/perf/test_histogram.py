"""The histogram of latencies, judged by the package hdrhistogram; merging is exact."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from kcli.flows.perf.histogram import Histogram

LARGEST = 24 * 3600 * 1_000_000
MICROS = st.one_of(
    st.integers(0, 5_000),
    st.integers(0, LARGEST),
    st.integers(11, 36).flatmap(lambda bits: st.integers((1 << bits) - 2, (1 << bits) + 2)),
)
SHARES = (0.0, 0.25, 0.5, 0.95, 0.99, 0.999, 1.0)


def histogram(values: Sequence[int]) -> Histogram:
    made = Histogram()
    for value in values:
        made.add(value)
    return made


def judge(values: Sequence[int]) -> HdrHistogram:
    made = HdrHistogram(1, LARGEST, 3)
    for value in values:
        assert made.record_value(value)
    return made


def same(one: Histogram, other: Histogram) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in Histogram.__slots__)


@given(MICROS)
def test_buckets_are_those_of_hdrhistogram(value: int) -> None:
    ((bucket, count),) = histogram([value]).rows()
    hdr = HdrHistogram(1, LARGEST, 3)
    assert (bucket, count) == (hdr.get_lowest_equivalent_value(value), 1)
    above = histogram([value, LARGEST * 2])
    assert above.percentile(0.5) == hdr.get_highest_equivalent_value(value)


@given(st.lists(MICROS, min_size=1, max_size=300))
def test_percentiles_are_those_of_hdrhistogram(values: list[int]) -> None:
    """The package rounds the rank of a percentile to the nearest, so it is asked for ranks that are whole."""
    ours, hdr = histogram(values), judge(values)
    for rank in {1, (len(values) + 1) // 2, len(values)}:
        share = rank / len(values)
        assert ours.percentile(share) == min(hdr.get_value_at_percentile(100 * share), max(values))
    assert ours.total == hdr.get_total_count()
    assert ours.mean == pytest.approx(sum(values) / len(values))
    assert hdr.get_mean_value() == pytest.approx(ours.mean, rel=0.001, abs=1)


@given(st.lists(MICROS, min_size=1, max_size=300))
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed_within_a_thousandth(
    values: list[int],
) -> None:
    ordered = sorted(values)
    for share, found in zip(SHARES, histogram(values).percentiles(SHARES), strict=True):
        exact = ordered[max(0, -int(-(share * len(ordered) - 1e-9) // 1) - 1)]
        assert found is not None
        assert exact <= found <= exact * 1.001


@given(st.lists(st.lists(MICROS, max_size=60), max_size=5))
def test_merged_histograms_equal_one_of_all_values(parts: list[list[int]]) -> None:
    merged = Histogram()
    for part in parts:
        merged.merge(histogram(part))
    assert same(merged, histogram([value for part in parts for value in part]))


@given(st.lists(MICROS, max_size=100))
def test_rows_are_read_back_with_the_same_buckets(values: list[int]) -> None:
    before = histogram(values)
    after = Histogram.from_rows(before.rows())
    assert after.counts == before.counts
    assert after.rows() == before.rows() == sorted(before.rows())


@given(st.lists(MICROS, min_size=1, max_size=100))
def test_coarse_rows_keep_all_values_within_one_percent(values: list[int]) -> None:
    rows = histogram(values).coarse_rows()
    assert sum(count for _, count in rows) == len(values)
    found = [bucket for bucket, count in rows for _ in range(count)]
    assert all(low <= value <= low * 1.01 for low, value in zip(found, sorted(values), strict=True))


def test_without_values_nothing_is_known() -> None:
    empty = Histogram()
    assert (empty.mean, empty.percentile(0.5), empty.rows()) == (None, None, [])
    empty.add(5, 0)
    assert empty.total == 0


def test_a_clock_that_is_behind_counts_as_no_time() -> None:
    assert histogram([-7]).rows() == [[0, 1]]


def test_a_count_is_that_many_values() -> None:
    several = Histogram()
    several.add(3_000, 4)
    assert same(several, histogram([3_000] * 4))
