"""The options of the commands that copy or compare topics of two clusters, each declared once."""

from collections.abc import Callable
from typing import Any

import click

from kcli.commands.shared.options import PROFILE


def from_option(what: str, *, required: bool) -> Callable[[Any], Any]:
    """``--from``, the source; ``what`` the command does with it."""
    return _cluster("--from", "source", what, required)


def to_option(what: str, *, required: bool) -> Callable[[Any], Any]:
    """``--to``, the target; ``what`` the command does with it."""
    return _cluster("--to", "target", what, required)


def topics_option(verb: str, *, required: bool) -> Callable[[Any], Any]:
    """``-t``: which topics the command is to ``verb``."""
    return click.option(
        "-t",
        "--topic",
        "topics",
        multiple=True,
        required=required,
        metavar="TOPIC|GLOB|^REGEX",
        help=f"Topics to {verb}: a name, a pattern, or a regular expression; repeatable.",
    )


def map_topic_option(what: str) -> Callable[[Any], Any]:
    """``--map-topic``; ``what`` A=B means to the command."""
    return click.option(
        "--map-topic",
        "renames",
        multiple=True,
        metavar="A=B",
        help=rf"{what}; '^REGEX=NAME' renames by a pattern, with \1 for its groups; repeatable.",
    )


def _cluster(name: str, parameter: str, what: str, required: bool) -> Callable[[Any], Any]:
    return click.option(
        name,
        parameter,
        type=PROFILE,
        required=required,
        metavar="PROFILE|HOST:PORT,…",
        help=f"The cluster that is {what}: a profile, or its brokers.",
    )
