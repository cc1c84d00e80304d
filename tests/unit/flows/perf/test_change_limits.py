"""``perf compare --fail-if``: conditions on changes."""

from __future__ import annotations

import pytest

from kcli.flows.perf.change_limits import exceeded_changes, parse_change_limit, parse_percent
from kcli.flows.perf.compare import Difference


def change(metric: str, value: float | None, half: float = 0.01) -> Difference:
    if value is None:
        return Difference(metric, "", 1, None, None, None, None, "not measured")
    return Difference(metric, "", 1, 1 + value, value, value - half, value + half, "")


@pytest.mark.parametrize(
    ("text", "value"), [("rate<-5%", -0.05), ("p99 > 10 %", 0.1), ("cpu>=2.5%", 0.025), ("p50<=+0%", 0.0)]
)
def test_a_condition_has_a_percentage(text: str, value: float) -> None:
    assert parse_change_limit(text).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("rate<-5", "is a percentage such as"),
        ("p99>5ms", "is a percentage such as"),
        ("p95>5%", "did you mean p9"),
        ("rate", "is not a condition such as rate<-5%"),
    ],
)
def test_what_is_no_condition_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_change_limit(text)


@pytest.mark.parametrize(("text", "value"), [("5%", 0.05), ("5", 0.05), ("0 %", 0.0)])
def test_a_threshold_is_a_percentage_with_or_without_its_sign(text: str, value: float) -> None:
    assert parse_percent(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["-5%", "five", "5 records", ""])
def test_a_threshold_is_not_negative(text: str) -> None:
    with pytest.raises(ValueError, match="is not a percentage"):
        parse_percent(text)


def test_a_certain_change_beyond_the_limit_exceeds_it() -> None:
    limits = [parse_change_limit(text) for text in ("rate<-5%", "p99>10%")]
    assert exceeded_changes(limits, [change("rate", -0.08), change("p99", 0.09)]) == [
        "rate<-5%: it changed by -8.0%"
    ]


def test_what_is_not_certain_is_no_change() -> None:
    """Also where no change is what the condition is about."""
    noisy = [change("rate", -0.2, half=0.3)]
    assert exceeded_changes([parse_change_limit("rate<-5%")], noisy) == []
    assert exceeded_changes([parse_change_limit("rate<5%")], noisy) == ["rate<5%: it changed by +0.0%"]


def test_what_was_not_measured_is_no_pass() -> None:
    (text,) = exceeded_changes([parse_change_limit("p99>10%")], [change("p99", None)])
    assert "not measured in both" in text
