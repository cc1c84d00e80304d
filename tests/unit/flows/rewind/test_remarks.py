"""What is told of partitions that are refused while others are done."""

import pytest

from kcli.core.errors import BrokerError, KcliError
from kcli.core.types import TopicPartition
from kcli.flows.rewind.remarks import refusal_errors, refused_warnings

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
    refused = [(tp, KcliError("it", why=why, do=DO)) for tp, why in zip((P0, P1), reasons, strict=False)]
    assert list(refused_warnings(refused)) == [told]


def test_without_permission_the_exit_status_is_4() -> None:
    denied = BrokerError(29, "looking up topic t")
    other = KcliError("out of range")

    def codes(*errors: KcliError, possible: bool) -> list[int]:
        refused = [(number, error) for number, error in enumerate(errors)]
        return [error.exit_code for error in refusal_errors(refused, possible=possible)]

    assert codes(denied, possible=False) == [4]
    assert codes(denied, other, possible=False) == [4, 7]
    assert codes(denied, other, possible=True) == [4, 6]
    assert codes(other, possible=True) == [6]
