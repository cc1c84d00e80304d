"""Open transactions: how many, for how long, and in which topics. Pure."""

from collections.abc import Callable, Iterator

from kcli.exporter.collectors.sample import Sample
from kcli.exporter.metric import GAUGE, Metric
from kcli.flows.transactions.coordinated import Coordinated
from kcli.flows.transactions.held import age

OPEN = Metric("kcli_transactions_open", GAUGE, (), "Transactions that are open or being completed.")
OLDEST = Metric(
    "kcli_transactions_oldest_seconds",
    GAUGE,
    (),
    "Age of the oldest of those that are known; 0 where none is open.",
)
TOPIC_OPEN = Metric("kcli_transactions_topic_open", GAUGE, ("topic",), "Those with records in the topic.")
TOPIC_OLDEST = Metric(
    "kcli_transactions_topic_oldest_seconds",
    GAUGE,
    ("topic",),
    "Age of the oldest of those with records in the topic.",
)
METRICS = (OPEN, OLDEST, TOPIC_OPEN, TOPIC_OLDEST)


def samples(
    found: Coordinated, now_ms: int, accepts_topic: Callable[[str], bool] | None = None
) -> Iterator[Sample]:
    """While a coordinator is missing it is not known how many there are, only that some are as old as this."""
    complete = not found.errors
    ages = [age(one.start_ms, now_ms) for one in found.transactions]
    known = [one for one in ages if one is not None]
    yield Sample(OPEN, (), len(ages) if complete else None)
    yield Sample(OLDEST, (), max(known) if known else 0 if complete and not ages else None)
    topics: dict[str, list[float | None]] = {}
    for one, seconds in zip(found.transactions, ages, strict=True):
        for topic in {tp.topic for tp in one.partitions}:
            if accepts_topic is None or accepts_topic(topic):
                topics.setdefault(topic, []).append(seconds)
    for topic, some in sorted(topics.items()):
        yield Sample(TOPIC_OPEN, (topic,), len(some) if complete else None, topic)
        yield Sample(
            TOPIC_OLDEST, (topic,), max((one for one in some if one is not None), default=None), topic
        )
