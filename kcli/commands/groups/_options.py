"""Options that several verbs of ``kcli groups`` have."""

from collections.abc import Callable, Sequence
from typing import Any

from kcli.commands.shared.options import OfferedType, option
from kcli.commands.shared.params import TOPIC_PARTITIONS, TopicPartitions
from kcli.core.types import TopicPartition

TYPES = OfferedType("types", ("classic", "consumer", "share", "streams"))
"""Types of groups, several separated by commas."""


def topics_option(text: str, *, required: bool = False) -> Callable[[Any], Any]:
    """``-t TOPIC[:LIST]``, as ``scopes``; repeatable."""
    return option(
        "-t",
        "--topic",
        "scopes",
        type=TOPIC_PARTITIONS,
        multiple=True,
        required=required,
        metavar="TOPIC[:LIST]",
        help=f"{text}, as in orders:0,2-4; repeatable",
    )


def empty_group_option() -> Callable[[Any], Any]:
    """``--empty-group``, which names the group whose name is empty: as an argument it is most often an unset variable."""
    return option("--empty-group", is_flag=True, help="the group whose name is empty")


def with_empty_group(names: Sequence[str], empty_group: bool) -> tuple[str, ...]:
    """The names, with the empty one if it is chosen."""
    return (*names, "") if empty_group else tuple(names)


def internal_option() -> Callable[[Any], Any]:
    """``--internal``."""
    return option(
        "--internal", is_flag=True, help="kcli's own groups too, which store the positions of its jobs"
    )


def selected(scopes: Sequence[TopicPartitions]) -> Callable[[TopicPartition], bool]:
    """Whether a partition is in ``scopes``; every partition is where there are none."""
    return lambda tp: not scopes or any(tp in scope for scope in scopes)


def single_partitions(scopes: Sequence[TopicPartitions]) -> list[TopicPartitions]:
    """The scopes, with one element for each partition that is named."""
    return [
        TopicPartitions(scope.topic, None if number is None else (number,))
        for scope in scopes
        for number in scope.partitions or (None,)
    ]


def zookeeper_option(text: str) -> Callable[[Any], Any]:
    """``--zookeeper``."""
    return option("--zookeeper", metavar="HOST[:PORT][,…][/CHROOT]", help=text)
