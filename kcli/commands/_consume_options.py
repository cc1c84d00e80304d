"""What the configuration says that flags of ``consume`` say too, a flag first; and which options a run has no use for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcli.commands.shared.usage import usage
from kcli.profiles.sifting import COMMAND_LINE

if TYPE_CHECKING:
    from kcli.commands.shared.context import Invocation
    from kcli.core.positions import ResetPolicy
    from kcli.profiles.applicability import Unused

_WITHOUT_GROUP = {
    "tail": "--tail",
    "partitions": "--partitions",
    "all_partitions": "--all-partitions",
    "merge": "--merge",
}
_STARTS = ("offset", "since", "tail", "from_beginning")
_OF_MEMBERS = (
    "group_instance_id",
    "group_protocol",
    "group_remote_assignor",
    "partition_assignment_strategy",
    "session_timeout_ms",
    "heartbeat_interval_ms",
    "max_poll_interval_ms",
    "enable_auto_commit",
    "auto_commit_interval_ms",
)
_OF_CLASSIC = ("session_timeout_ms", "heartbeat_interval_ms", "partition_assignment_strategy")
_ALWAYS: dict[str, Unused] = {
    "max_poll_records": ("records are written in whole batches", "leave it out; -n N stops after N records"),
}
_MEMBERS: Unused = ("it is for members of a group", "give -g GROUP, or leave it out")
_CLASSIC: Unused = ("with group.protocol=consumer the coordinator decides that", "leave it out")
_CONSUMER: Unused = (
    "with group.protocol=classic the members assign",
    "add -X group.protocol=consumer, or use partition.assignment.strategy",
)


def group(inv: Invocation, flags: dict[str, Any]) -> str | None:
    """The group that is read for: ``-g``, else ``group.id``. One that only a file or a variable names gives way to flags
    that groups know nothing of.
    """
    if flags["group"] is not None:
        return str(flags["group"])
    name = inv.resolved.values.get("group_id")
    if not name:
        return None
    origin = inv.resolved.origins["group_id"]
    clash = next((shown for flag, shown in _WITHOUT_GROUP.items() if flags[flag] not in (None, False)), None)
    if clash is None:
        inv.talk.note(
            f"reading as a member of group {name}: group.id ({origin}); -X group.id= reads without a group"
        )
        return str(name)
    if origin == COMMAND_LINE:
        raise usage(
            f"kcli consume: -X group.id={name} and {clash} together",
            why="the group says what its members read, and from where",
            do="use one of them",
        )
    inv.talk.note(f"reading without a group: {clash} is given, group.id ({origin}) is not used")
    return None


def reset_policy(inv: Invocation, flags: dict[str, Any]) -> ResetPolicy | None:
    """``auto.offset.reset`` where it is configured and no flag says where to start."""
    from kcli.core.errors import ConfigError
    from kcli.core.positions import parse_reset

    text = inv.resolved.values.get("auto_offset_reset")
    asked = flags["offset"]
    said = any(flags[name] not in (None, False) for name in _STARTS if name != "offset")
    if text is None or said or (asked is not None and asked.start is not None):
        return None
    origin = inv.resolved.origins["auto_offset_reset"]
    try:
        policy = parse_reset(text)
    except ValueError as error:
        raise ConfigError(
            f"auto.offset.reset={text!r} is not a valid value (from {origin})",
            why=str(error),
            do="use one of these, as in by_duration:PT12H for twelve hours ago",
        ) from None
    if policy.kind == "none" and flags["group"] is None:
        raise ConfigError(
            f"auto.offset.reset={text} ({origin}) without a group",
            why="it forbids choosing where to start, and without a group no offset is committed",
            do="give a start: --from-beginning, --offset SPEC or --since TIME; or read in a group with -g GROUP",
        )
    if policy.kind != "earliest":
        where = "where nothing is committed, " if flags["group"] is not None else ""
        inv.talk.note(
            f"{where}starting as auto.offset.reset={text} ({origin}) says; --from-beginning overrules it"
        )
    return policy


def unused(inv: Invocation, flags: dict[str, Any]) -> dict[str, Unused]:
    """Options of a consumer that this run has no use for."""
    if flags["group"] is None:
        passed_over = {"group_id": _MEMBERS} if inv.resolved.values.get("group_id") else {}
        return _ALWAYS | dict.fromkeys(_OF_MEMBERS, _MEMBERS) | passed_over
    protocol = inv.resolved.values.get("group_protocol", "classic")
    if protocol == "consumer":
        return _ALWAYS | dict.fromkeys(_OF_CLASSIC, _CLASSIC)
    return _ALWAYS | {"group_remote_assignor": _CONSUMER}
