"""``-o kafka``: the lines of Kafka's own perf tools (4.4.0), for scripts that parse them. Pure.

A megabyte is 2^20 bytes there, and milliseconds are whole but for averages. Latencies are the corrected ones: the tools
measure from the call of send().
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from kcli.flows.perf.measurement import Interval

_MEBIBYTE = 1 << 20
CONSUMER_HEADER = (
    "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
    "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)


def kafka_lines(item: Mapping[str, Any], *, headers: bool = True) -> list[str]:
    """What the tool prints at its end. ``began`` and ``ended`` of the item are milliseconds; headers: of the consumer."""
    if item["test"] == "consume":
        return [CONSUMER_HEADER, _consumer(item)] if headers else [_consumer(item)]
    return _LINES[item["test"]](item)


def kafka_window(interval: Interval, seconds: float) -> str:
    """What the producer's tool prints every five seconds."""
    mean = interval.latencies.mean
    return (
        f"{interval.records} records sent, {_per(interval.records, seconds):.1f} records/sec "
        f"({_per(interval.bytes / _MEBIBYTE, seconds):.2f} MB/sec), {_number(mean, 1)} ms avg latency, "
        f"{interval.latencies.largest // 1000:.1f} ms max latency."
    )


def kafka_sample(number: int, micros: int) -> str:
    """What the end-to-end tool prints of every thousandth record: its number, and its latency in milliseconds."""
    return f"{number}\t{micros / 1000}"


def _producer(item: Mapping[str, Any]) -> list[str]:
    """With a warm-up the line for what follows it, the tool's second one: the warm-up is not measured here."""
    seconds = item["seconds"]
    p50, p95, p99, p999 = (_whole(item[f"latency_{name}_corrected_us"]) for name in _PERCENTILES)
    return [
        f"{item['records']}{' steady state' if item['warmup_records'] else ''} records sent, "
        f"{_per(item['records'], seconds):f} records/sec "
        f"({_per(item['bytes'] / _MEBIBYTE, seconds):.2f} MB/sec), "
        f"{_number(item['latency_mean_corrected_us'], 2)} ms avg latency, "
        f"{_whole(item['latency_max_corrected_us']):.2f} ms max latency, "
        f"{p50} ms 50th, {p95} ms 95th, {p99} ms 99th, {p999} ms 99.9th."
    ]


def _consumer(item: Mapping[str, Any]) -> str:
    megabytes, records, seconds = item["bytes"] / _MEBIBYTE, item["records"], item["seconds"]
    fetching = item["fetch_seconds"] or 0.0
    return (
        f"{_moment(item['began'])}, {_moment(item['ended'])}, {megabytes:.4f}, {_per(megabytes, seconds):.4f}, "
        f"{records}, {_per(records, seconds):.4f}, {round((item['rebalance_seconds'] or 0.0) * 1000)}, "
        f"{round(fetching * 1000)}, {_per(megabytes, fetching):.4f}, {_per(records, fetching):.4f}"
    )


def _end_to_end(item: Mapping[str, Any]) -> list[str]:
    p50, p99, p999 = (_whole(item[f"latency_{name}_corrected_us"]) for name in ("p50", "p99", "p999"))
    return [
        f"Avg latency: {_number(item['latency_mean_corrected_us'], 4)} ms",
        f"Percentiles: 50th = {p50}, 99th = {p99}, 99.9th = {p999}",
    ]


_PERCENTILES = ("p50", "p95", "p99", "p999")
_LINES: Mapping[str, Callable[[Mapping[str, Any]], list[str]]] = {"produce": _producer, "e2e": _end_to_end}


def _per(amount: float, seconds: float) -> float:
    return amount / seconds if seconds else 0.0


def _number(micros: float | None, digits: int) -> str:
    """Milliseconds of an average; NaN without records, as in Java."""
    return "NaN" if micros is None else f"{micros / 1000:.{digits}f}"


def _whole(micros: int | None) -> int:
    return (micros or 0) // 1000


def _moment(ms: int | None) -> str:
    """In the local time zone, as ``yyyy-MM-dd HH:mm:ss:SSS``."""
    ms = ms or 0
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ms // 1000)) + f":{ms % 1000:03d}"
