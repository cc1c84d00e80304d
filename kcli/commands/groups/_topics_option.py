"""``-t TOPIC[:0,2-4]`` of the verbs that take part of a group's offsets."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from kcli.commands.shared.params import TOPIC_PARTITIONS, TopicPartitions
from kcli.core.types import TopicPartition


def topics_option(said: str, *, required: bool = False) -> Callable[[Any], Any]:
    """``-t``, as ``scopes``; repeatable."""
    return click.option(
        "-t",
        "--topic",
        "scopes",
        type=TOPIC_PARTITIONS,
        multiple=True,
        required=required,
        metavar="TOPIC[:0,2-4]",
        help=f"{said}; repeatable",
    )


def within(scopes: Sequence[TopicPartitions]) -> Callable[[TopicPartition], bool]:
    """Whether a partition was named; all are where nobody named any."""
    return lambda tp: not scopes or any(tp in scope for scope in scopes)
