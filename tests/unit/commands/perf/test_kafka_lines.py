"""``-o kafka`` prints what Kafka 4.4.0's perf tools print, so that what parses their lines parses these."""

from __future__ import annotations

import re

import pytest

from kcli.commands.perf.kafka_lines import CONSUMER_HEADER, kafka_lines, kafka_window
from kcli.flows.perf.measurement import Interval, Measurement
from kcli.flows.perf.result import Run, perf_item

PRODUCER = re.compile(
    r"(\d+)( steady state)? records sent, ([\d.]+) records/sec \(([\d.]+) MB/sec\), ([\d.]+|NaN) ms avg latency, "
    r"([\d.]+) ms max latency, (\d+) ms 50th, (\d+) ms 95th, (\d+) ms 99th, (\d+) ms 99\.9th\."
)


def measured(**fields: float) -> Measurement:
    made = Measurement(began=1_700_000_000.0, ended=1_700_000_002.0, **fields)  # type: ignore[arg-type]
    made.records, made.bytes = 1000, 4 << 20
    for micros in (1_999, 2_500):
        made.corrected.add(micros, 500)
        made.raw.add(7)
    return made


def lines(test: str, measurement: Measurement) -> list[str]:
    item = perf_item(Run(test, "t", "g"), measurement)
    return kafka_lines({**item, "began": 1_700_000_000_000, "ended": 1_700_000_002_000})


def test_the_producers_line_has_whole_milliseconds_from_the_intended_time_and_mebibytes() -> None:
    assert lines("produce", measured()) == [
        "1000 records sent, 500.000000 records/sec (2.00 MB/sec), 2.25 ms avg latency, 2.00 ms max latency, "
        "1 ms 50th, 2 ms 95th, 2 ms 99th, 2 ms 99.9th."
    ]


@pytest.mark.parametrize("measurement", [measured(), measured(warmup_records=5), Measurement()])
def test_the_producers_line_is_always_one_that_scripts_parse(measurement: Measurement) -> None:
    (line,) = lines("produce", measurement)
    match = PRODUCER.fullmatch(line)
    assert match is not None, line
    assert bool(match[2]) is bool(measurement.warmup_records)


def test_the_producers_window_is_that_of_the_tool() -> None:
    interval = Interval(0, records=100, bytes=1 << 20)
    interval.latencies.add(1_500, 99)
    interval.latencies.add(9_999)
    assert kafka_window(interval, 5.0) == (
        "100 records sent, 20.0 records/sec (0.20 MB/sec), 1.6 ms avg latency, 9.0 ms max latency."
    )


def test_the_consumers_line_has_a_field_for_each_of_its_header() -> None:
    header, line = lines("consume", measured(rebalance_seconds=0.25, fetch_seconds=1.75))
    assert header == CONSUMER_HEADER
    values = line.split(", ")
    assert len(values) == len(header.split(", ")) == 10
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}", values[0])
    assert values[2:] == ["4.0000", "2.0000", "1000", "500.0000", "250", "1750", "2.2857", "571.4286"]


def test_the_consumers_header_can_be_left_out() -> None:
    item = perf_item(Run("consume", "t"), Measurement())
    (line,) = kafka_lines(item, headers=False)
    assert line.endswith("0.0000, 0.0000, 0, 0.0000, 0, 0, 0.0000, 0.0000")


def test_the_lines_of_end_to_end_latency() -> None:
    assert lines("e2e", measured()) == [
        "Avg latency: 2.2495 ms",
        "Percentiles: 50th = 1, 99th = 2, 99.9th = 2",
    ]
