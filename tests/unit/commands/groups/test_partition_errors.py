"""What is told of partitions that are refused while others are done."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kcli.commands.groups._partition_errors import refusal_codes, report_refused
from kcli.core.errors import BrokerError, KcliError
from kcli.core.types import TopicPartition

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
DO = "leave it out with -t"


@pytest.mark.parametrize(
    ("reasons", "told"),
    [
        (["no leader"], "orders-0 refused: no leader; leave it out with -t"),
        (["no leader", "no leader"], "orders-0 and 1 more refused: no leader; leave it out with -t"),
        (["no leader", "gone"], "orders-0 refused: no leader; 1 more like it; leave it out with -t"),
    ],
)
def test_the_reason_comes_before_the_remedy(reasons: list[str], told: str) -> None:
    said: list[str] = []
    inv = cast(Any, SimpleNamespace(talk=SimpleNamespace(warn=said.append)))
    refused = [(tp, KcliError("it", why=why, do=DO)) for tp, why in zip((P0, P1), reasons, strict=False)]
    report_refused(inv, refused, possible=True)
    assert said == [told]


def test_without_permission_the_exit_status_is_4() -> None:
    denied = BrokerError(29, "looking up topic t")
    other = KcliError("out of range")
    assert refusal_codes([("t-0", denied)], possible=False) == (4,)
    assert refusal_codes([("t-0", denied), ("u-0", other)], possible=False) == (4, 7)
    assert refusal_codes([("t-0", denied), ("u-0", other)], possible=True) == (4, 6)
    assert refusal_codes([("u-0", other)], possible=True) == (6,)
