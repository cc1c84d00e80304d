"""``kcli topics alter``: change the configuration of topics, and add partitions."""

import click

from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.config_flags import config_changes
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC, CountType, option
from kcli.commands.shared.params import check_topic_name
from kcli.commands.shared.usage import usage

_MOST_PARTITIONS = (1 << 31) - 1


@command(
    "alter",
    examples=(
        ("kcli topics alter orders payments --set retention.ms=7d", "after a plan and a question"),
        ("kcli topics alter orders --unset retention.ms --yes", "back to the default, in a script"),
        ("kcli topics alter orders --append cleanup.policy=compact", "one element of a list"),
        ("kcli topics alter orders --partitions 12 --dry-run", "only let the broker check the request"),
    ),
)
@click.argument("names", nargs=-1, required=True, type=TOPIC, metavar="TOPIC…")
@option(
    "--set",
    "set_",
    multiple=True,
    metavar="KEY=VALUE",
    help="set a key, or with @FILE those of a file; repeatable",
)
@option("--unset", multiple=True, metavar="KEY", help="restore the default of a key; repeatable")
@option("--append", multiple=True, metavar="KEY=VALUE", help="add an element to a list; repeatable")
@option("--remove", multiple=True, metavar="KEY=VALUE", help="remove an element from a list; repeatable")
@option(
    "--partitions",
    type=CountType(1, _MOST_PARTITIONS),
    metavar="N",
    help="increase the number of partitions to N; more than 10,000 new ones require --confirm NAME",
)
@pass_invocation
def alter_topic(
    inv: Invocation,
    names: tuple[str, ...],
    set_: tuple[str, ...],
    unset: tuple[str, ...],
    append: tuple[str, ...],
    remove: tuple[str, ...],
    partitions: int | None,
) -> int:
    """Change the configuration of topics, and add partitions.

    The broker checks all changes before the plan is shown; nothing is changed if it rejects one. Afterwards each
    change is read back.

    The same is done to all TOPICs. The changes of the configuration of one are made together, partitions are added
    after them; exit code 6 where only some of the topics were changed. Numbers may have units, as in retention.ms=7d
    and segment.bytes=1GiB, and `never` is no limit. A key that the broker does
    not have: exit code 2. A topic cannot have fewer partitions than it has: exit code 7. An internal topic, such as
    __consumer_offsets, requires --confirm NAME: --yes is not enough.
    """
    from kcli.flows.topics.alter import TopicAlter  # clients are loaded when the command runs

    for name in names:
        check_topic_name(name, "topics alter")
    changes = config_changes("topics alter", set_, unset, append, remove)
    if not changes and partitions is None:
        raise usage(
            "topics alter: no change is given",
            why="it is required",
            do="as in --set retention.ms=3600000, --unset retention.ms, --append cleanup.policy=compact, "
            "--remove cleanup.policy=compact, --partitions 12",
        )
    return run_change(inv, TopicAlter(names, changes, partitions, named=bool(inv.values.confirm)))
