"""``--fail-if``: what is a condition, what it means, and when it is true."""

from __future__ import annotations

import pytest

from kcli.flows.perf.limits import KEYS, Limit, exceeded, parse_limit, unmeasured
from kcli.flows.perf.measurement import Measurement
from kcli.flows.perf.result import Run, perf_item


@pytest.mark.parametrize(
    ("text", "metric", "operator", "value"),
    [
        ("p99>50ms", "p99", ">", 50_000),
        ("p99 > 1.5ms", "p99", ">", 1_500),
        ("P50>=250us", "p50", ">=", 250),
        ("raw_p999<=3µs", "raw_p999", "<=", 3),
        ("mean > 1.5s", "mean", ">", 1_500_000),
        ("max>1m30s", "max", ">", 90_000_000),
        ("rate<100k", "rate", "<", 100_000),
        ("rate<1.5M/s", "rate", "<", 1_500_000),
        ("mb<100", "mb", "<", 100),
        ("mb<1.5GB/s", "mb", "<", 1_500),
        ("errors>0", "errors", ">", 0),
        ("lost>1_000".replace("_", ""), "lost", ">", 1_000),
    ],
)
def test_a_condition_has_the_unit_of_the_report(text: str, metric: str, operator: str, value: float) -> None:
    assert parse_limit(text) == Limit(text, metric, operator, value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("p98>1ms", "did you mean p9"),
        ("throughput>1", "is not measured; there are p50"),
        ("p99>50", "is not a latency such as"),
        ("p99>50MB", "is not a latency such as"),
        ("p99=50ms", "is not a condition such as"),
        ("p99", "is not a condition such as"),
        ("p99>", "is not a condition such as"),
        (">5ms", "is not a condition such as"),
        ("rate<5ms", "rate is a number"),
        ("errors>-1", "errors is a number"),
        ("errors>10/s", "errors is a number"),
        ("lost>1k/s", "lost is a number"),
        ("mb<10k", "mb is megabytes a second"),
        ("", "is not a condition such as"),
    ],
)
def test_what_is_no_condition_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_limit(text)


@pytest.mark.parametrize(
    ("operator", "below", "equal", "above"),
    [
        ("<", True, False, False),
        ("<=", True, True, False),
        (">", False, False, True),
        (">=", False, True, True),
    ],
)
def test_an_operator_is_true_on_its_side(operator: str, below: bool, equal: bool, above: bool) -> None:
    limit = parse_limit(f"errors{operator}5")
    assert [limit.exceeded_by(figure) for figure in (4, 5, 6)] == [below, equal, above]


def test_every_metric_is_a_key_of_a_report() -> None:
    assert set(KEYS.values()) <= set(perf_item(Run("produce", "t"), Measurement()))


def test_a_limit_that_is_exceeded_names_the_figure() -> None:
    item = dict.fromkeys(KEYS.values(), 0) | {
        "latency_p99_corrected_us": 63_210,
        "records_per_second": 12_345.6,
    }
    limits = [parse_limit(text) for text in ("p99>50ms", "p50>50ms", "rate<100k", "errors>0")]
    assert exceeded(limits, item) == ["p99>50ms: it is 63.2 ms", "rate<100k: it is 12,346"]


def test_a_figure_that_is_missing_in_the_report_is_no_pass() -> None:
    found = exceeded([parse_limit("p99>50ms"), parse_limit("lost>0")], dict.fromkeys(KEYS.values()))
    assert found == [
        "p99>50ms: it was not measured, since no record was",
        "lost>0: it was not measured, since the records were not checked",
    ]


def test_what_a_test_never_measures_is_known_before() -> None:
    for test, checked, text, known in (
        ("produce", False, "p99>1ms", True),
        ("produce", False, "lost>0", False),
        ("produce", True, "lost>0", True),
        ("consume", True, "p99>1ms", False),
        ("consume", True, "raw_max>1ms", False),
        ("consume", False, "unconfirmed>0", False),
        ("consume", False, "rate<1", True),
        ("e2e", True, "reordered>0", True),
    ):
        assert (unmeasured(parse_limit(text), test, checked=checked) is None) is known, (test, text)
