"""The item of a PerfReport: its keys are always there, and null is what was not measured."""

from __future__ import annotations

import pytest

from kcli.flows.perf.measurement import Integrity, Measurement
from kcli.flows.perf.result import Run, perf_item


def measured() -> Measurement:
    made = Measurement(began=1000.0, ended=1010.05, records=4, bytes=4_000_000, cpu_seconds=2.01)
    for at, micros in ((0.0, 1000), (0.01, 2000), (0.35, 3000), (10.01, 400_000)):
        made.raw.add(micros // 2)
        made.corrected.add(micros)
        interval = made.interval_at(at)
        interval.records += 1
        interval.bytes += 1_000_000
        interval.latencies.add(micros)
    return made


def test_every_key_is_there_whatever_was_measured() -> None:
    full = perf_item(Run("produce", "t"), measured())
    assert set(full) == set(perf_item(Run("consume", "t", "g"), Measurement()))


def test_nothing_is_measured_in_a_run_without_records() -> None:
    item = perf_item(Run("produce", "t"), Measurement())
    null = {key for key, value in item.items() if value is None}
    assert {key for key in item if key.startswith("latency_")} <= null
    assert {"records_per_second", "mb_per_second", "lost", "began", "ended", "group"} <= null
    assert (item["records"], item["errors"], item["intervals"]) == (0, 0, [])
    assert item["overhead"]["cpu_share"] is None


def test_rates_are_of_the_measured_part_and_a_megabyte_is_a_million_bytes() -> None:
    item = perf_item(Run("produce", "t"), measured())
    assert item["records_per_second"] == pytest.approx(4 / 10.05, abs=0.05)
    assert item["mb_per_second"] == pytest.approx(4 / 10.05, abs=0.001)
    assert item["overhead"]["cpu_share"] == pytest.approx(0.2)


def test_raw_and_corrected_latencies_have_names_of_their_own() -> None:
    item = perf_item(Run("e2e", "t"), measured())
    assert item["latency_mean_us"] * 2 == item["latency_mean_corrected_us"] == 101_500.0
    assert (item["latency_p50_us"], item["latency_p50_corrected_us"]) == (1000, 2000)
    assert (item["latency_max_us"], item["latency_max_corrected_us"]) == (200_000, 400_000)


def test_intervals_have_no_gaps_and_the_last_one_ends_with_the_run() -> None:
    intervals = perf_item(Run("produce", "t"), measured())["intervals"]
    assert [one["at_seconds"] for one in intervals] == [round(0.1 * n, 1) for n in range(101)]
    assert sum(one["records"] for one in intervals) == 4
    assert sum(one["seconds"] for one in intervals) == pytest.approx(10.05)
    empty = intervals[1]
    assert (empty["records"], empty["latency_p50_us"], empty["histogram_us"]) == (0, None, [])


def test_times_and_checks_are_null_where_a_test_has_none() -> None:
    checked = measured()
    checked.integrity = Integrity(4, 1, 0, 0)
    produce, consume = perf_item(Run("produce", "t"), checked), perf_item(Run("consume", "t"), measured())
    assert (produce["checked"], produce["lost"], consume["lost"]) == (4, 1, None)
    assert (produce["fetch_seconds"], produce["unconfirmed"]) == (None, 0)
    assert (consume["fetch_seconds"], consume["unconfirmed"]) == (0.0, None)
    assert consume["rebalance_seconds"] is None
    assert perf_item(Run("consume", "t", "g"), measured())["rebalance_seconds"] == 0.0
