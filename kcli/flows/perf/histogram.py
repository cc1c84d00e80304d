"""Latencies of many records in bounded memory, merged exactly. Pure.

Log-linear, as HdrHistogram with three significant digits: values below 2,048 µs have buckets of their own, and each
doubling above them has 1,024 buckets, so a value is known within 0.1 %. http://hdrhistogram.org
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_BITS = 11  # 2,048 buckets: the smallest power of two at which three digits are kept
_EXACT = 1 << _BITS
_COARSE_BITS = 8


class Histogram:
    """``counts``: how many values are in a bucket, by the smallest value that it takes. Values are whole microseconds."""

    __slots__ = ("counts", "largest", "smallest", "total", "total_us")

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.total = self.total_us = self.largest = 0
        self.smallest: int | None = None

    def add(self, micros: int, count: int = 1) -> None:
        """Adds ``count`` values that are the same; a negative one is 0: clocks of two machines may differ."""
        if count < 1:
            return
        if micros < 0:  # a comparison, here and below: this is called for each record, and calls cost more
            micros = 0
        bucket = micros if micros < _EXACT else _bucket(micros)
        self.counts[bucket] = self.counts.get(bucket, 0) + count
        self.total += count
        self.total_us += micros * count
        if micros > self.largest:
            self.largest = micros
        if self.smallest is None or micros < self.smallest:
            self.smallest = micros

    def merge(self, other: Histogram) -> None:
        """Adds all values of another one: equal to a histogram of both from the beginning."""
        for bucket, count in other.counts.items():
            self.counts[bucket] = self.counts.get(bucket, 0) + count
        self.total += other.total
        self.total_us += other.total_us
        self.largest = max(self.largest, other.largest)
        if other.smallest is not None:
            self.smallest = other.smallest if self.smallest is None else min(self.smallest, other.smallest)

    @property
    def mean(self) -> float | None:
        """In microseconds, of the values as they were added; None without values."""
        return self.total_us / self.total if self.total else None

    def percentile(self, share: float) -> int | None:
        """The microseconds that ``share`` (0 to 1) of the values do not exceed; None without values."""
        found = self.percentiles((share,))
        return found[0]

    def percentiles(self, shares: Sequence[float]) -> list[int | None]:
        """``percentile`` of several shares, in rising order, in one pass."""
        if not self.total:
            return [None] * len(shares)
        found: list[int | None] = []
        seen = 0
        buckets = iter(sorted(self.counts))
        bucket = 0
        for share in shares:
            wanted = max(1, _ceiling(share * self.total))
            while seen < wanted:
                bucket = next(buckets)
                seen += self.counts[bucket]
            found.append(min(_last_of(bucket), self.largest))
        return found

    def rows(self) -> list[list[int]]:
        """``[smallest value of the bucket, count]`` in rising order, for documents; ``from_rows`` reads them."""
        return [[bucket, self.counts[bucket]] for bucket in sorted(self.counts)]

    def coarse_rows(self) -> list[list[int]]:
        """``rows`` with 128 buckets for each doubling, which are within 1 %: for the many histograms of a document."""
        found: dict[int, int] = {}
        for bucket, count in self.counts.items():
            shift = max(0, bucket.bit_length() - _COARSE_BITS)
            coarse = bucket >> shift << shift
            found[coarse] = found.get(coarse, 0) + count
        return [[bucket, found[bucket]] for bucket in sorted(found)]

    def coarsen(self) -> None:
        """Keeps the buckets of ``coarse_rows``, for many histograms in memory; sum and extremes stay exact."""
        self.counts = {row[0]: row[1] for row in self.coarse_rows()}

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[int]]) -> Histogram:
        """From ``rows``: the same buckets; the sum and the extremes are known within a bucket only."""
        found = cls()
        for bucket, count in rows:
            found.add(bucket, count)
        return found


def _bucket(micros: int) -> int:
    shift = max(0, micros.bit_length() - _BITS)
    return micros >> shift << shift


def _last_of(bucket: int) -> int:
    """The largest value in a bucket."""
    return bucket + (1 << max(0, bucket.bit_length() - _BITS)) - 1


def _ceiling(wanted: float) -> int:
    """Rounded up, but for what a share in binary adds: 0.99 of 100 values are 99."""
    return -int(-(wanted - 1e-9) // 1)
