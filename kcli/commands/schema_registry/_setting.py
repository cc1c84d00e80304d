"""What ``registry config`` and ``registry mode`` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.commands.schema_registry._schema import subject_only
from kcli.commands.shared.usage import usage
from kcli.flows.registry.names import prefix_of


def sets(flags: Mapping[str, Any]) -> bool:
    """Whether the line changes something."""
    return flags["value"] is not None or flags["unset"]


def setting_subject(command: str, subject: str | None, context: str | None) -> str:
    """The subject; empty for all; that of a context, ``:.CONTEXT:``, where only the context is named."""
    if subject is not None:
        return subject_only(command, subject, context)
    return "" if context is None else prefix_of(context)


def checked_value(command: str, value: str, key: str, known: Sequence[str]) -> str:
    """``KEY=VALUE`` or ``VALUE``; the value in capitals."""
    name, sign, rest = value.partition("=")
    word = (rest if sign else name).upper().replace("-", "_")
    if (sign and name != key) or word not in known:
        raise usage(
            f"{command}: --set {value} is no {key}",
            why=f"the values are {', '.join(known)}",
            do=f"as in --set {key}={known[0]}",
        )
    return word


def check_unset(command: str, subject: str, value: str | None, *, unset: bool) -> None:
    """``--unset`` is for a subject, and alone."""
    if unset and value is not None:
        raise usage(
            f"{command}: --set and --unset together",
            why="one sets it, the other takes it away",
            do="give one of them",
        )
    if unset and not subject:
        raise usage(
            f"{command}: --unset without SUBJECT",
            why="it takes away what a subject has of its own; that of all subjects can only be set",
            do="name a subject, or use --set",
        )
