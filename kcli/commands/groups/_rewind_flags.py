"""What the flags of ``kcli groups rewind`` mean, and which cannot be combined."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import click

from kcli.commands.shared.params import DURATION
from kcli.commands.shared.usage import usage
from kcli.flows.rewind.barriers import LONGEST_HOLD
from kcli.flows.rewind.scope import Scope, parse_topics
from kcli.flows.rewind.watching import WATCH_SECONDS

Flags = Mapping[str, Any]


def topic_scope(flags: Flags) -> Scope:
    """``--topic``, ``--exclude-topic`` and ``--all-topics``."""
    try:
        topics = parse_topics(flags["topics"])
    except ValueError as error:
        raise usage(
            "groups rewind: --topic is not understood", why=str(error), do="as in --topic orders:0,2-4"
        ) from None
    if listed := [name for name in flags["excluded"] if "," in name]:
        raise usage(
            f"groups rewind: --exclude-topic {listed[0]!r} is not a topic",
            why="names of topics contain no comma",
            do="repeat --exclude-topic for each topic",
        )
    if topics and flags["all_topics"]:
        raise usage(
            "groups rewind: --topic and --all-topics cannot be used together",
            why="nothing was done",
            do="give one of them",
        )
    all_topics = flags["all_topics"] or bool(flags["excluded"] and not topics)
    return Scope(topics, frozenset(flags["excluded"]), all_topics)


def check_all_groups(names: Sequence[str], flags: Flags) -> None:
    """An undo, and whatever affects members, needs the groups by name: a mistake would be costly."""
    clash = [
        *(["a GROUP"] if names else []),
        *(f"--{name}" for name in ("undo", "live", "hold", "wait") if flags[name] not in (None, False)),
    ]
    if clash:
        raise usage(
            f"groups rewind: --all-groups with {clash[0]}",
            why="it means every consumer group of the cluster; nothing was done",
            do="name the groups instead" if clash[0] != "a GROUP" else "leave out the names, or --all-groups",
        )


def wait_limit(flags: Flags) -> float | None:
    """Seconds of ``--wait``; None: indefinitely."""
    return _seconds(flags["wait"]) if flags["wait"] else None


def hold_limit(flags: Flags) -> float | None:
    """Seconds of ``--hold``; None: groups are not held while the plan is reviewed."""
    if flags["wait"] is not None and (flags["live"] or flags["hold"] is not None):
        raise usage(
            "groups rewind: --wait and --live cannot be used together",
            why="--wait waits until the members have left, --live does not need them to leave",
            do="give one of them",
        )
    if not flags["hold"]:
        return None if flags["hold"] is None else LONGEST_HOLD
    seconds = _seconds(flags["hold"])
    if not 0 < seconds <= LONGEST_HOLD:
        raise usage(
            f"groups rewind: --hold={flags['hold']} is not between 0 and {LONGEST_HOLD:.0f} s",
            why="no member reads while a group is held",
            do="review the plan with --dry-run first, which holds no group",
        )
    return seconds


def watch_limit(flags: Flags) -> float:
    """Seconds for which members are watched, at most."""
    return _seconds(flags["watch"]) if flags["watch"] else WATCH_SECONDS


def check_alone(flags: Flags, flag: str, fitting: Collection[str], why: str) -> None:
    """A usage error where flags are given that say what to rewind, or how, besides ``flag`` and the ``fitting``."""
    params = {param.name: param for param in click.get_current_context().command.params}
    given = [
        name for name, value in flags.items() if value is not None and value is not False and value != ()
    ]
    excess = [max(params[name].opts, key=len) for name in given if name not in fitting]
    if excess:
        raise usage(
            f"groups rewind: {flag} with {', '.join(excess)}",
            why=why,
            do=f"leave {'it' if len(excess) == 1 else 'them'} out, or {flag}",
        )


def _seconds(text: str) -> float:
    seconds: float = DURATION.convert(text, None, click.get_current_context())
    return seconds
