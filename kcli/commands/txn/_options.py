"""Options that several verbs of ``kcli txn`` have."""

from collections.abc import Callable
from typing import Any, TypeVar

from kcli.commands.shared.options import TOPIC, option
from kcli.commands.shared.params import DURATION, PARTITIONS

C = TypeVar("C", bound=Callable[..., Any])

older_than_option = option(
    "--older-than", type=DURATION, metavar="DUR", help="only transactions that are open for longer: 15m, 2h"
)


def topic_options(meaning: str) -> Callable[[C], C]:
    """``--topic``, with what it selects, and its ``-p``."""

    def with_options(command: C) -> C:
        partitions = option(
            "-p",
            "--partitions",
            type=PARTITIONS,
            metavar="LIST",
            help="only these partitions of --topic, as in 0,2,5-7",
        )
        return option("--topic", type=TOPIC, metavar="TOPIC", help=meaning)(partitions(command))

    return with_options
