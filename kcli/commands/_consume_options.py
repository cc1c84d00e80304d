"""The flags of ``consume``, checked and merged with the configuration, which a flag overrides."""

from dataclasses import replace
from typing import Any

from kcli.commands._what_to_read import auto_offset_reset
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.usage import usage
from kcli.core.errors import ConfigError
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
from kcli.core.own_names import own_group_danger
from kcli.core.positions import OffsetSpec, RangeSpec, ResetPolicy, parse_reset
from kcli.profiles.applicability import Unused
from kcli.profiles.pairs import COMMAND_LINE

_OF_TAIL = "--tail N prints N records and exits"
_OF_GROUP = "the group determines what its members read, and from where"
_CONTRADICTIONS = (
    ("--tail", ("--until", "--max-messages", "--idle-timeout", "--merge"), _OF_TAIL),
    ("--group", ("--tail", "--partitions", "--all-partitions"), _OF_GROUP),
    (
        "--group",
        ("--merge",),
        "records that wait for others cannot be committed in the order of their offsets",
    ),
)
_WITHOUT_GROUP = {
    "tail": "--tail",
    "partitions": "--partitions",
    "all_partitions": "--all-partitions",
    "merge": "--merge",
}
_STARTS = ("since", "tail", "from_beginning")
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


def group_of(inv: Invocation, flags: dict[str, Any]) -> str | None:
    """The group to read as a member of: ``-g``, else ``group.id``. One from a file or a variable is ignored if a flag
    excludes groups. A usage error for ``--commit`` without a group.
    """
    name = _configured_group(inv, flags)
    if name is not None:
        inv.check_may_change(f"joining group {name}")
        if (danger := own_group_danger(name)) and not inv.dry_run:
            from kcli.commands.shared.confirm import confirm  # only for a group of kcli's own

            confirm(inv, f"Join group {name}", f"Join group {name}?", name=name, danger=danger)
    if flags["commit"] is not None and name is None:
        raise usage(
            f"kcli consume: {'--commit' if flags['commit'] else '--no-commit'} without -g",
            why="offsets are committed for a group",
            do="give -g GROUP",
        )
    return name


def _configured_group(inv: Invocation, flags: dict[str, Any]) -> str | None:
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
            why=_OF_GROUP,
            do="use one of them",
        )
    inv.talk.note(f"reading without a group: {clash} is given, group.id ({origin}) is not used")
    return None


def reset_policy(inv: Invocation, flags: dict[str, Any]) -> ResetPolicy | None:
    """``auto.offset.reset`` if it is configured and no flag gives a start."""
    text = inv.resolved.values.get("auto_offset_reset")
    spec = flags["offset"]
    given = any(flags[name] not in (None, False) for name in _STARTS)
    if text is None or given or (spec is not None and spec.start is not None):
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
            f"{where}starting as auto.offset.reset={text} ({origin}) specifies; --from-beginning overrides it"
        )
    return policy


def unused_of_members(inv: Invocation, group: str | None) -> dict[str, Unused]:
    """Options of a consumer that a run does not use as a member of this group, or without one."""
    if group is None:
        ignored = {"group_id": _MEMBERS} if inv.resolved.values.get("group_id") else {}
        return dict.fromkeys(_OF_MEMBERS, _MEMBERS) | ignored
    protocol = inv.resolved.values.get("group_protocol", "classic")
    if protocol == "consumer":
        return dict.fromkeys(_OF_CLASSIC, _CLASSIC)
    return {"group_remote_assignor": _CONSUMER}


def consumer_options(
    inv: Invocation, flags: dict[str, Any], spec: RangeSpec, policy: ResetPolicy | None
) -> ConsumerOptions:
    """The consumer's options; sets ``flags["commit"]``, since this command makes the commits itself."""
    start = spec.start or OffsetSpec("earliest")
    options = inv.client_options(
        ConsumerOptions,
        unused=_ALWAYS | unused_of_members(inv, flags["group"]),
        group_id=flags["group"],
        auto_offset_reset=None if policy is not None else auto_offset_reset(start),
        enable_auto_commit=flags["commit"],
        isolation_level=flags["isolation_level"],
        client_rack=flags["rack"],
        on_corrupt=flags["on_corrupt"],
        on_out_of_range=flags["on_out_of_range"],
        show_control_batches=flags["print_control"] or None,
    )
    flags["commit"] = options.enable_auto_commit
    return replace(
        options,
        on_out_of_range=options.on_out_of_range or "fail",
        max_poll_records=WHOLE_BATCHES,
        enable_auto_commit=False,  # this command commits what was written
    )


def check_flags(flags: dict[str, Any], inv: Invocation) -> None:
    """Usage errors for flags that contradict each other."""
    given = {f"--{name.replace('_', '-')}" for name, value in flags.items() if value not in (None, False, ())}
    for one, others, why in _CONTRADICTIONS:
        clash = sorted(given & set(others)) if one in given else []
        if clash:
            raise usage(f"kcli consume: {one} and {clash[0]} together", why=why, do="use one of them")
    starts = [name for name in ("--offset", "--since", "--tail", "--from-beginning") if name in given]
    if len(starts) > 1:
        raise usage(
            f"kcli consume: {' and '.join(starts)} together",
            why="each specifies where to start",
            do="use one of them",
        )
    formats = [
        *(["-f"] if flags["template"] is not None else []),
        *(["-J"] if flags["kcat"] else []),
        *(["-o"] if inv.values.output is not None else []),
    ]
    if len(formats) > 1:
        raise usage(
            f"kcli consume: {' and '.join(formats)} together",
            why="each chooses the output format",
            do="use one of them",
        )
    if flags["all_partitions"] and flags["key"] is None:
        raise usage(
            "kcli consume: --all-partitions without --key",
            why="all partitions are read anyway",
            do="leave it out",
        )
