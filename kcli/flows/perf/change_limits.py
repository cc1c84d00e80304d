"""``perf compare --fail-if 'rate<-5%'``: conditions on changes under which a comparison counts as failed. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kcli.flows.perf.compare import METRICS, Difference
from kcli.flows.perf.limits import Limit, split_condition

_PERCENT = re.compile(r"([+-]?[0-9]+(?:\.[0-9]+)?)\s*%")


def parse_change_limit(text: str) -> Limit:
    """ValueError with a sentence if it is no condition; its value is 0.05 for 5 %."""
    metric, operator, value = split_condition(text, METRICS, "rate<-5% or p99>10%")
    match = _PERCENT.fullmatch(value)
    if match is None:
        raise ValueError(f"a change is a percentage such as 10% or -5%, not {value!r}")
    return Limit(text.strip(), metric, operator, float(match[1]) / 100)


def parse_percent(text: str) -> float:
    """``5%`` or ``5``: 0.05; ValueError if it is none, or less than 0."""
    match = _PERCENT.fullmatch(text.strip().removesuffix("%") + "%")
    if match is None or float(match[1]) < 0:
        raise ValueError(f"{text!r} is not a percentage such as 5%")
    return float(match[1]) / 100


def exceeded_changes(limits: Sequence[Limit], differences: Sequence[Difference]) -> list[str]:
    """A sentence for each limit that is exceeded, or that cannot be judged. What is not certain is no change."""
    by_metric = {one.metric: one for one in differences}
    found = []
    for limit in limits:
        one = by_metric[limit.metric]
        if one.change is None:
            found.append(f"{limit.text}: it was not measured in both")
        elif limit.exceeded_by(one.certain):
            found.append(f"{limit.text}: it changed by {one.certain:+.1%}")
    return found
