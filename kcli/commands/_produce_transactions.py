"""``kcli produce`` in transactions: takes over the transactional id, and finds where a resumed run begins."""

from collections.abc import Callable
from functools import partial

from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.errors import UnsupportedError
from kcli.core.options import ClientOptions, ProducerOptions
from kcli.core.own_names import CHECKPOINTS
from kcli.core.producer.producer import Producer
from kcli.core.types import TopicPartition
from kcli.flows.checkpoint import Checkpoint
from kcli.flows.produce import ProduceRun
from kcli.flows.produce_transactions import DEFAULT_EVERY, TransactionalRun, Transactions, resumed_position


def transactional_flow(
    inv: Invocation,
    producer: Producer,
    options: ProducerOptions,
    topic: str,
    every: int | None,
    checkpoint: Checkpoint | None,
) -> Callable[..., ProduceRun]:
    """The flow, after the transactional id is initialized; sets the checkpoint to the last transaction of its group."""
    name = options.transactional_id
    if checkpoint is not None:
        with Admin(inv.inner_options(ClientOptions), inv.hooks, timeout=inv.timeout) as admin:
            if (lacking := admin.lacks("fetch_stable")) is not None:
                raise UnsupportedError(
                    "--checkpoint with --transactional-id needs brokers of Kafka 2.5 or later",
                    why=f"{lacking}: the next run could not tell where this one ended",
                    do="leave out one of them",
                )
    with inv.first_contact(f"the coordinator of {name}"):
        producer.init_transactions(max(inv.timeout, options.request_timeout_ms / 1000))
    limits = Transactions(every or DEFAULT_EVERY)
    if checkpoint is not None:
        group, tp = CHECKPOINTS + name, TopicPartition(topic, 0)
        if checkpoint.resumes:
            with Admin(inv.inner_options(ClientOptions), inv.hooks, timeout=inv.timeout) as admin:
                stored = admin.fetch_offsets({group: [tp]}, require_stable=True)[group]
            checkpoint.position = resumed_position(checkpoint, group, stored, tp)
        limits = Transactions(limits.every, group=group, run=checkpoint.run)
    return partial(TransactionalRun, transactions=limits)
