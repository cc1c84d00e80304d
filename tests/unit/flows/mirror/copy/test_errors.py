"""What ends a partition says which side it is, which offsets, and what to do."""

import pytest

from kcli.core.consumer.fetcher import OutOfRangeError
from kcli.core.consumer.partition_recovery import TopicRecreatedError
from kcli.core.consumer.positions import TruncatedError
from kcli.core.error_codes import MESSAGE_TOO_LARGE
from kcli.core.errors import BrokerError, KcliError, UnknownPartitionError
from kcli.core.types import TopicPartition
from kcli.flows.mirror.copy.errors import of_source, of_target

TP, COPY = TopicPartition("orders", 3), TopicPartition("copy", 3)


def out_of_range(start: int, end: int) -> OutOfRangeError:
    error = OutOfRangeError(TP, 40)
    error.start, error.end = start, end
    return error


@pytest.mark.parametrize(
    ("error", "code", "says", "remedy"),
    [
        (out_of_range(50, 90), 5, "offsets 40 to 49 were removed before they were copied", "--on-gap record"),
        (out_of_range(0, 20), 5, "the log goes from 0 to 20: it was truncated", "`kcli mirror reset orders"),
        (TruncatedError(TP, 20, 40), 5, "orders-3 of the source: the log was truncated: offsets 20 to 39", "reset"),
        (TopicRecreatedError("orders", bytes(16), "x"), 5, "topic orders of the source was deleted", "--on-recreate"),
        (KcliError("other", do="what it says"), 1, "other", "what it says"),
    ],
)  # fmt: skip
def test_errors_of_the_source(error: KcliError, code: int, says: str, remedy: str) -> None:
    found = of_source(error, TP, 40)
    assert found.exit_code == code
    assert says in str(found)
    assert remedy in found.do


@pytest.mark.parametrize(
    ("error", "code", "says", "remedy"),
    [
        (UnknownPartitionError("topic copy has no partition 3"), 5, "copy-3 of the target was deleted", "mirror reset"),
        (BrokerError(MESSAGE_TOO_LARGE, "x"), 1, "a record that follows offset 40 of orders-3", "max.message.bytes"),
        (KcliError("other", do="what it says"), 1, "other", "what it says"),
    ],
)  # fmt: skip
def test_errors_of_the_target(error: KcliError, code: int, says: str, remedy: str) -> None:
    found = of_target(error, TP, COPY, 40)
    assert found.exit_code == code
    assert says in str(found)
    assert remedy in found.do
