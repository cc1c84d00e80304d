"""The options of the commands that copy or compare topics of two clusters, each declared once."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import click

from kcli.commands.shared.options import PROFILE, TOPIC, option
from kcli.commands.shared.params import config_option, offset_option
from kcli.commands.shared.usage import usage


def from_option(what: str, *, required: bool) -> Callable[[Any], Any]:
    """``--from``, the source; ``what`` the command does with it."""
    return _cluster("--from", "source", what, required)


def to_option(what: str, *, required: bool) -> Callable[[Any], Any]:
    """``--to``, the target; ``what`` the command does with it."""
    return _cluster("--to", "target", what, required)


def topics_option(verb: str, *, required: bool) -> Callable[[Any], Any]:
    """``-t``: which topics the command is to ``verb``."""
    return option(
        "-t",
        "--topic",
        "topics",
        type=TOPIC,
        multiple=True,
        required=required,
        metavar="TOPIC|GLOB|^REGEX",
        help=f"topics to {verb}: a name, a pattern, or a regular expression; repeatable",
    )


def exclude_option(verb: str) -> Callable[[Any], Any]:
    """``--exclude``: topics that patterns of ``-t`` select, and that the command is not to ``verb``."""
    return option(
        "--exclude",
        "excludes",
        type=TOPIC,
        multiple=True,
        metavar="TOPIC|GLOB|^REGEX",
        help=f"topics not to {verb}, although a pattern of -t selects them; repeatable",
    )


def check_excludes(command: str, topics: Collection[str], excludes: Iterable[str]) -> None:
    """A usage error for a selector that is in ``-t`` and in ``--exclude``."""
    for one in excludes:
        if one in topics:
            raise usage(
                f"kcli {command}: -t {one} with --exclude {one}",
                why="the topic cannot be selected and left out",
                do="leave one of them out",
            )


def map_topic_option(what: str) -> Callable[[Any], Any]:
    """``--map-topic``; ``what`` A=B means to the command."""
    return option(
        "--map-topic",
        "renames",
        multiple=True,
        metavar="A=B",
        help=rf"{what}; '^REGEX=NAME' renames by a pattern, with \1 for its groups; repeatable",
    )


def partitions_kept_option(verb: str) -> Callable[[Any], Any]:
    """``--partitions``: to which partition the command is to ``verb`` a record."""
    return option(
        "--partitions",
        type=click.Choice(["keep", "by-key"]),
        default="keep",
        help=f"{verb} to the same partition, or to that of the key (default: keep)",
    )


def config_options() -> list[Callable[[Any], Any]]:
    """What becomes of the configuration and the timestamps of copied topics: ``--sync-configs``, ``--config``,
    ``--timestamps``.
    """
    return [
        option(
            "--sync-configs",
            type=click.Choice(["off", "topic", "effective"]),
            default="topic",
            help="write to the target what is set on the source topic, or each value in force that differs, wherever it "
            "is set; off: only what an exact copy needs (default: topic)",
        ),
        config_option(
            "configuration of the target topics, whatever the source has, as in retention.ms=7d; repeatable"
        ),
        option(
            "--timestamps",
            type=click.Choice(["keep", "ms"]),
            default="keep",
            help="copy timestamps in µs or ns as they are, or in milliseconds (default: keep)",
        ),
    ]


def begin_option() -> Callable[[Any], Any]:
    """``--offset`` of a mirror."""
    return offset_option(
        "where the copy of a topic begins, and may end: earliest, latest, N, N:M, @TIME (default: earliest)",
        name="span",
    )


def job_option(default: str = "default") -> Callable[[Any], Any]:
    """``--job``; ``default``: its default, or what that is made of."""
    return option("--job", metavar="NAME", help=f"name of the job (default: {default})")


def _cluster(name: str, parameter: str, what: str, required: bool) -> Callable[[Any], Any]:
    return option(
        name,
        parameter,
        type=PROFILE,
        required=required,
        metavar="PROFILE|HOST:PORT,…",
        help=f"the cluster that is {what}: a profile, or its brokers",
    )
