"""``kcli configs alter``: change configurations."""

from collections.abc import Sequence

import click

from kcli.commands.configs._names import KIND, KIND_WORDS, resources
from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.config_flags import config_changes, levels
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.usage import usage
from kcli.core.admin.configs import ConfigChange
from kcli.flows.configs.key_changes import WORDS
from kcli.flows.configs.resources import KINDS, OF_A_BROKER


@command(
    "alter",
    examples=(
        ("kcli configs alter topics orders --set retention.ms=7d", "after a plan and a question"),
        ("kcli configs alter topics orders --append cleanup.policy=compact --yes", "a list gets a value"),
        ("kcli configs alter brokers default --unset message.max.bytes --dry-run", "only show the plan"),
        ("kcli configs alter groups billing --set consumer.session.timeout.ms=60000", "of a group"),
        (
            "kcli configs alter broker-loggers 1 --set kafka.server.KafkaApis=DEBUG",
            "until the broker restarts",
        ),
        ("kcli configs alter client-metrics apps --set interval.ms=1m --set metrics=*", "what clients push"),
    ),
)
@click.argument("kind", type=KIND, metavar=KIND_WORDS)
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@option(
    "--set",
    "sets",
    multiple=True,
    metavar="KEY=VALUE",
    help="set a key, or with @FILE those of a file; repeatable",
)
@option("--unset", "unsets", multiple=True, metavar="KEY", help="unset a key: its default applies")
@option("--append", "appends", multiple=True, metavar="KEY=VALUE", help="add values to a list")
@option("--remove", "removes", multiple=True, metavar="KEY=VALUE", help="remove values from a list")
@option("--unset-all", is_flag=True, help="unset every key that is set on a topic, a group or client metrics")
@pass_invocation
def alter_configs(
    inv: Invocation,
    kind: str,
    names: tuple[str, ...],
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
    appends: tuple[str, ...],
    removes: tuple[str, ...],
    unset_all: bool,
) -> int:
    """Change configurations: after a plan and a question, and with a check of the values afterwards.

    Numbers may have units: times w, d, h, m, s, ms, and bytes KB, MB, GB (powers of 1000), KiB, MiB, GiB (of 1024), as
    in retention.ms=7d and segment.bytes=1GiB; `never` is no limit, where a key has such a value.

    Keys that are not named stay as they are. All changes of a topic, broker or group are applied, or none. A broker
    is named by its id; `default` changes the default of all brokers.

    Of broker-loggers the keys are loggers, and the values FATAL, ERROR, WARN, INFO, DEBUG and TRACE; --unset gives one
    the level of the logger above it. Client metrics have metrics, interval.ms and match; a subscription exists while a
    key of it is set, and --unset-all deletes it. `kcli undo` undoes changes of both, and what --unset-all did.

    Exit code 2 for an unknown key, 7 for one that can only be changed in the broker's file, 6 where some of several
    NAMEs were changed. Brokers accept any key, since plug-ins may have their own: one that resembles a known key is
    refused, any other that no broker lists requires --confirm NAME. An internal topic, such as __consumer_offsets,
    requires it, too: --yes is not enough.
    """
    from kcli.flows.configs.alter import ConfigAlter  # clients are loaded when the command runs

    wanted = resources("alter", kind, names)
    changes = config_changes("configs alter", sets, unsets, appends, removes)
    if kind == "broker-loggers":
        changes = levels(changes)
    if unset_all:
        _check_alone(kind, changes)
    elif not changes:
        raise usage(
            "configs alter: no change is given",
            why="none of --set, --unset, --append and --remove was given",
            do="as in --set retention.ms=3600000, --unset retention.ms, --append cleanup.policy=compact",
        )
    named = bool(inv.values.confirm)
    return run_change(inv, ConfigAlter(wanted, changes, named=named, unset_all=unset_all))


def _check_alone(kind: str, changes: Sequence[ConfigChange]) -> None:
    if KINDS[kind] in OF_A_BROKER:
        raise usage(
            f"configs alter: --unset-all with {kind}",
            why="it is for topics, groups and client metrics: a broker has too many keys to unset all of them at once",
            do="name the keys, as in --unset KEY",
        )
    if changes:
        raise usage(
            f"configs alter: --unset-all together with --{WORDS[changes[0].op]}",
            why="--unset-all unsets every key",
            do="leave one of them out",
        )
