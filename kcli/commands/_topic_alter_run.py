"""What ``kcli topics alter`` does: checks the changes, shows the plan, asks, changes, and reads back."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from kcli.commands import _topic_changes as changes
from kcli.commands import _topic_rows as view
from kcli.commands._topic_changes import PARTITIONS, ChangeRefusedError, PlannedChange, Requested
from kcli.commands.groups._plan_output import show_plan_only
from kcli.commands.shared.cluster import connect, open_admin, without_errors
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import check_topic_name
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigChange, ConfigEntry, ConfigKind, ConfigOp, ConfigResource
from kcli.core.admin.topics import TopicInfo
from kcli.core.clock import monotonic
from kcli.core.errors import KcliError
from kcli.output.listing import list_rows
from kcli.output.progress import counted

_OPERATIONS = {
    changes.SET: ConfigOp.SET,
    changes.UNSET: ConfigOp.DELETE,
    changes.APPEND: ConfigOp.APPEND,
    changes.REMOVE: ConfigOp.SUBTRACT,
}
_VISIBLE_WITHIN = 5.0
"""Seconds in which a change has to be visible: brokers receive it from the controller a moment later."""
_POLL = 0.05


def alter_topic(
    inv: Invocation,
    name: str,
    set_: tuple[str, ...],
    unset: tuple[str, ...],
    append: tuple[str, ...],
    remove: tuple[str, ...],
    partitions: int | None,
) -> int:
    """Alters a topic. Returns the exit status."""
    check_topic_name(name, "topics alter")
    wanted = changes.requested_changes(set_, unset, append, remove)
    if not wanted and partitions is None:
        raise usage(
            "topics alter: no change is given",
            why="it is required",
            do="as in --set retention.ms=3600000, --unset retention.ms, --append cleanup.policy=compact, "
            "--remove cleanup.policy=compact, --partitions 12",
        )
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        for topic in without_errors(inv, admin.describe_topics([name])).values():
            plan = _plan(admin, topic, wanted, partitions)
            return _confirm_and_alter(inv, admin, cluster, topic, plan)
    return inv.finish(done=False)


def _plan(
    admin: Admin, topic: TopicInfo, wanted: Sequence[Requested], partitions: int | None
) -> list[PlannedChange]:
    plan = changes.planned_changes(topic.name, wanted, _entries(admin, topic.name)) if wanted else []
    if partitions is not None:
        plan.append(changes.planned_partitions(topic, partitions))
    return plan


def _confirm_and_alter(
    inv: Invocation, admin: Admin, cluster: str, topic: TopicInfo, plan: list[PlannedChange]
) -> int:
    name = topic.name
    todo = [change for change in plan if change.needed]
    refusals = [change.error for change in plan if change.error is not None]
    if not refusals and todo:
        refusals = _rejected(admin, name, todo)
    if any(change.is_sensitive and change.value is not None for change in plan):
        inv.talk.warn("a secret on the command line can be seen by other users of this machine")
    text = changes.plan_text(name, plan)
    if refusals or not todo or inv.dry_run:
        rows = map(changes.plan_row, plan)
        show_plan_only(inv, text, changes.PLAN, rows, cluster, kind="TopicAlterPlan")
        for error in refusals:
            inv.failed(error)
        if not todo:
            inv.talk.note(f"nothing is to be changed: topic {name} is as requested")
            if not inv.dry_run:
                _print_report(inv, cluster, plan, {})
        return inv.finish(done=False)
    danger = view.purpose(topic)
    named = name if danger is not None or inv.values.confirm is not None else None
    confirm(inv, text, f"Alter topic {name}?", name=named, subject=name, danger=danger)
    status = _alter(inv, admin, name, todo)
    _print_report(inv, cluster, plan, status)
    done = [key for key, state in status.items() if state == "done"]
    if done:
        inv.talk.note(f"altered topic {name}: {counted(len(done), 'change')}, read back")
    return inv.finish(done=bool(done) or "unknown" in status.values())


def _rejected(admin: Admin, name: str, todo: Sequence[PlannedChange]) -> list[KcliError]:
    """What the broker has against the changes, before any is made."""
    errors = []
    if configs := _config_changes(todo):
        errors += list(admin.alter_configs({_resource(name): configs}, validate_only=True).values())
    if count := _partitions(todo):
        errors += list(admin.create_partitions({name: count}, validate_only=True).values())
    return [error for error in errors if error is not None]


def _alter(inv: Invocation, admin: Admin, name: str, todo: Sequence[PlannedChange]) -> dict[str, str]:
    """The status of each change by key: ``done``, ``failed``, ``unknown``. Errors are reported.

    The configuration comes first: added partitions cannot be removed, so they are not added after a failure.
    """
    configs = [change for change in todo if change.key != PARTITIONS]
    status = {change.key: "failed" for change in todo}
    made: list[PlannedChange] = []
    if configs:
        (error,) = admin.alter_configs({_resource(name): _config_changes(configs)}).values()
        if error is not None:
            inv.failed(error)
            if len(configs) < len(todo):
                inv.talk.warn(
                    f"no partitions were added to topic {name}, since its configuration was not changed"
                )
            return status
        made += configs
    if count := _partitions(todo):
        (error,) = admin.create_partitions({name: count}).values()
        if error is not None:
            inv.failed(error, partly=bool(made))
        else:
            made += [change for change in todo if change.key == PARTITIONS]
    try:
        missing = _read_back(admin, name, made)
    except KcliError as error:
        inv.failed(
            ReadBackError(
                f"topic {name} was changed, but not read back",
                why=str(error),
                do=f"`kcli topics describe {name}` shows what is set",
            )
        )
        return status | dict.fromkeys([change.key for change in made], "unknown")
    for key, found in missing.items():
        inv.failed(
            ChangeRefusedError(
                f"{key} of topic {name} was changed, but reads {found}",
                why="another client changed it since, or the broker has not received the change yet",
                do=f"`kcli topics describe {name}` shows what is set; find out which client changes it",
            )
        )
    return status | {change.key: "unknown" if change.key in missing else "done" for change in made}


class ReadBackError(KcliError):
    """A change was confirmed and could not be read back."""

    exit_code = 6


def _read_back(admin: Admin, name: str, made: Sequence[PlannedChange]) -> dict[str, str]:
    """The keys whose change is not visible, with the values found; waits until the broker has received it."""
    until = monotonic() + _VISIBLE_WITHIN
    while True:
        missing = _not_visible(admin, name, made)
        if not missing or monotonic() >= until:
            return missing
        time.sleep(_POLL)


def _not_visible(admin: Admin, name: str, made: Sequence[PlannedChange]) -> dict[str, str]:
    missing: dict[str, str] = {}
    configs = [change for change in made if change.key != PARTITIONS]
    if configs:
        entries = {entry.name: entry for entry in _entries(admin, name)}
        for change in configs:
            entry = entries.get(change.key)
            if not changes.is_applied(change, entry):
                missing[change.key] = "nothing" if entry is None else _found(entry)
    if count := _partitions(made):
        topic = admin.describe_topics([name])[name]
        if isinstance(topic, KcliError):
            raise topic
        if len(topic.partitions) < count:
            missing[PARTITIONS] = str(len(topic.partitions))
    return missing


def _found(entry: ConfigEntry) -> str:
    return "a value that is not shown" if entry.is_sensitive else f"{entry.value} ({entry.source})"


def _entries(admin: Admin, name: str) -> list[ConfigEntry]:
    (found,) = admin.describe_configs([_resource(name)], synonyms=True).values()
    if isinstance(found, KcliError):
        raise found
    return found


def _resource(name: str) -> ConfigResource:
    return ConfigResource(ConfigKind.TOPIC, name)


def _config_changes(todo: Sequence[PlannedChange]) -> list[ConfigChange]:
    return [
        ConfigChange(change.key, change.value, _OPERATIONS[change.change])
        for change in todo
        if change.key != PARTITIONS
    ]


def _partitions(todo: Sequence[PlannedChange]) -> int | None:
    """The number of partitions to have."""
    return next((int(change.value or 0) for change in todo if change.key == PARTITIONS), None)


def _print_report(
    inv: Invocation, cluster: str, plan: Sequence[PlannedChange], status: Mapping[str, str]
) -> None:
    with list_rows(
        inv.out,
        "TopicAlterReport",
        "TopicAlterReportItem",
        changes.REPORT,
        cluster=cluster,
        warnings=inv.talk.warnings,
    ) as printed:
        for change in plan:
            printed.add(changes.plan_row(change) | {"status": status.get(change.key, "unchanged")})
