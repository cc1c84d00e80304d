"""What ``kcli configs alter`` does: a plan, a question, the change, and a check of the values afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.commands._config_resources import entries_of, resources, shown_name, title, without_failures
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigChange, ConfigEntry, ConfigKind, ConfigOp, ConfigResource
from kcli.core.clock import monotonic
from kcli.core.errors import KcliError
from kcli.flows.config_changes import PlannedChange, is_done, plan, unknown_key
from kcli.output.listing import list_rows
from kcli.output.tables import Column

Plans = dict[ConfigResource, list[PlannedChange]]
Entries = dict[ConfigResource, list[ConfigEntry]]

_COLUMNS = (
    Column("name"),
    Column("key"),
    Column("operation", spare=2),
    Column("old", "prose"),
    Column("old_source", spare=1),
    Column("new", "prose"),
    Column("new_source", spare=1),
    Column("status"),
)
_HIDDEN = "(hidden)"
_PAUSE = 0.1
"""Seconds between two reads of a value: brokers apply a change a moment after the controller has."""


class ReadOnlyError(KcliError):
    """A key that brokers change only at their start."""

    exit_code = 7


class NotAppliedError(KcliError):
    """The value that was read back is not the one that was set."""

    exit_code = 7


def alter(
    inv: Invocation,
    kind: str,
    names: tuple[str, ...],
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
    appends: tuple[str, ...],
    removes: tuple[str, ...],
) -> int:
    """Changes configurations. Returns the exit status."""
    wanted = resources("alter", kind, names)
    changes = _changes(sets, unsets, appends, removes)
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        plans = _plans(inv, admin, changes, entries_of(inv, admin, wanted))
        effective = {resource: rows for resource, rows in plans.items() if any(r.has_effect for r in rows)}
        for resource in plans.keys() - effective.keys():
            inv.talk.note(f"{title(resource)} has these values already")
        accepted = _accepted(inv, admin, effective)
        done: set[ConfigResource] = set(plans.keys() - effective.keys())
        if accepted:
            count = sum(map(len, accepted.values()))
            keys = "1 key" if count == 1 else f"{count} keys"
            if confirm(inv, _text(accepted), f"Change {keys}?", subject=_subject(accepted)):
                done |= _executed(inv, admin, accepted)
            else:
                done |= accepted.keys()
    if inv.out.kind is not None:
        _print(inv, cluster, plans, effective.keys(), done)
    return inv.finish(done=bool(done))


def _changes(
    sets: Sequence[str], unsets: Sequence[str], appends: Sequence[str], removes: Sequence[str]
) -> list[ConfigChange]:
    changes = [ConfigChange(*_pair("--set", text)) for text in sets]
    changes += [ConfigChange(_key(text), None, ConfigOp.DELETE) for text in unsets]
    changes += [ConfigChange(*_pair("--append", text), ConfigOp.APPEND) for text in appends]
    changes += [ConfigChange(*_pair("--remove", text), ConfigOp.SUBTRACT) for text in removes]
    if not changes:
        raise usage(
            "configs alter: nothing to change",
            why="none of --set, --unset, --append and --remove was given",
            do="write --set retention.ms=3600000, for example",
        )
    seen: set[str] = set()
    for change in changes:
        if change.name in seen:
            raise usage(
                f"configs alter: {change.name} is changed twice",
                why="a key can be changed once at a time",
                do=f"name it once; several values of a list are written with commas: --append {change.name}=A,B",
            )
        seen.add(change.name)
    return changes


def _pair(option: str, text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        shown = f"{option} {key!r}" if not sign else option
        raise usage(
            f"configs alter: {shown} is not KEY=VALUE",
            why="there is no = in it" if not sign else "there is no key before the =",
            do=f"write {option} retention.ms=3600000, for example; --unset KEY restores the default",
        )
    return key.strip(), value


def _key(text: str) -> str:
    key, sign, _ = text.partition("=")
    if sign or not key.strip():
        raise usage(
            f"configs alter: --unset {key or text!r} is not a key",
            why="--unset takes a key without a value" if sign else "it is empty",
            do="write --unset retention.ms, for example; --remove KEY=VALUE removes a value from a list",
        )
    return key.strip()


def _plans(inv: Invocation, admin: Admin, changes: Sequence[ConfigChange], found: Entries) -> Plans:
    """What would change, of the resources that can be changed; the others are reported."""
    plans: Plans = {}
    for resource, own in found.items():
        known = {entry.name: entry for entry in (*_of_a_broker(inv, admin, resource), *own)}
        _check_known(changes, known, resource)
        for change in changes:
            if change.name in known and known[change.name].read_only:
                inv.failed(_read_only(resource, change.name))
                break
        else:
            plans[resource] = plan(resource, changes, {entry.name: entry for entry in own}, known)
    given = {row.change.name for rows in plans.values() for row in rows if row.sensitive and row.change.value}
    for name in sorted(given):
        inv.talk.warn(
            f"the value of {name} may be a secret: other users of this machine can see command lines"
        )
    return plans


def _of_a_broker(inv: Invocation, admin: Admin, resource: ConfigResource) -> list[ConfigEntry]:
    """The keys that the default of all brokers may have: those of any broker. None are needed for other resources."""
    if resource.name:
        return []
    broker = ConfigResource(ConfigKind.BROKER, str(min(admin.connect().nodes)))
    return entries_of(inv, admin, [broker]).get(broker, [])


def _check_known(
    changes: Sequence[ConfigChange], known: Mapping[str, ConfigEntry], resource: ConfigResource
) -> None:
    for change in changes:
        refused, near = unknown_key(change, known, open_ended=resource.kind is ConfigKind.BROKER)
        if refused:
            kind = resource.kind.name.lower()
            raise usage(
                f"configs alter: a {kind} has no configuration {change.name}",
                why="the brokers do not list such a key, and nothing was changed",
                do=f"did you mean {near}?"
                if near
                else f"`kcli configs describe {kind}s {shown_name(resource)} --all` lists the keys",
            )


def _read_only(resource: ConfigResource, key: str) -> ReadOnlyError:
    return ReadOnlyError(
        f"{title(resource)}: {key} cannot be changed while brokers run",
        why="it is read-only: a broker reads it from its file when it starts",
        do="change server.properties of the broker and restart it",
    )


def _accepted(inv: Invocation, admin: Admin, plans: Plans) -> Plans:
    """The plans that the brokers accept; nothing is changed by asking them."""
    requests = {resource: [row.change for row in rows] for resource, rows in plans.items()}
    outcome = _redacted(plans, admin.alter_configs(requests, validate_only=True) if requests else {})
    return {resource: plans[resource] for resource in without_failures(inv, admin, outcome)}


def _executed(inv: Invocation, admin: Admin, plans: Plans) -> set[ConfigResource]:
    """The resources that were changed, and whose values were read back."""
    requests = {resource: [row.change for row in rows] for resource, rows in plans.items()}
    changed = list(without_failures(inv, admin, _redacted(plans, admin.alter_configs(requests))))
    left, found = set(changed), Entries()
    deadline = monotonic() + inv.timeout
    while left:
        answers = admin.describe_configs(sorted(left, key=str))
        found |= {resource: rows for resource, rows in answers.items() if not isinstance(rows, KcliError)}
        left = {resource for resource in left if _wrong(plans[resource], found.get(resource, []))}
        if monotonic() >= deadline:
            break
        if left:
            admin.cluster.sleep(_PAUSE)
    for resource in changed:
        if resource in left:
            keys = ", ".join(_wrong(plans[resource], found.get(resource, [])))
            inv.failed(
                NotAppliedError(
                    f"{title(resource)}: {keys} was changed, and does not have the new value",
                    why="another client has changed it since, or the brokers have not applied it yet",
                    do=f"see `kcli configs describe {resource.kind.name.lower()}s {shown_name(resource)}`",
                )
            )
        else:
            inv.talk.note(f"changed the configuration of {title(resource)}")
    return set(changed) - left


def _wrong(rows: Sequence[PlannedChange], entries: Sequence[ConfigEntry]) -> list[str]:
    values = {entry.name: entry for entry in entries}
    return [row.change.name for row in rows if not is_done(row, values.get(row.change.name))]


def _redacted(
    plans: Plans, outcome: Mapping[ConfigResource, KcliError | None]
) -> dict[ConfigResource, KcliError | None]:
    """A broker's message about a value that it rejects may quote it: not if it is a secret."""
    for resource, error in outcome.items():
        for row in plans[resource] if error is not None else ():
            if error is not None and row.sensitive and row.change.value:
                error.why = error.why.replace(row.change.value, _HIDDEN)
    return dict(outcome)


def _subject(plans: Plans) -> str | None:
    names = [shown_name(resource) for resource in plans]
    return names[0] if len(names) == 1 else None


def _text(plans: Plans) -> str:
    lines = []
    for resource, rows in plans.items():
        lines.append(f"Change the configuration of {title(resource)}:")
        lines += [f"  {_line(row)}" for row in rows]
    return "\n".join(lines)


def _line(row: PlannedChange) -> str:
    if not row.has_effect:
        return f"{row.change.name}: {_shown(row, row.old)} stays"
    unset = row.old is None and not row.sensitive
    old = "not set" if unset else f"{_shown(row, row.old)} ({row.old_source})"
    if (
        row.new is None and not row.sensitive
    ):  # brokers do not report a default that a unit of another key implies
        return f"{row.change.name}: {old} → the default"
    return f"{row.change.name}: {old} → {_shown(row, row.new)} ({row.new_source})"


def _shown(row: PlannedChange, value: str | None) -> str:
    if row.sensitive:
        return _HIDDEN
    return value or "(empty)"


def _print(
    inv: Invocation,
    cluster: str,
    plans: Plans,
    effective: Any,
    done: set[ConfigResource],
) -> None:
    """The changes; with ``--dry-run`` what would change."""
    kind = "ConfigAlterPlan" if inv.dry_run else "ConfigAlterReport"
    with list_rows(
        inv.out, kind, f"{kind}Item", _COLUMNS, cluster=cluster, warnings=inv.talk.warnings
    ) as printed:
        for resource, rows in plans.items():
            for row in rows:
                printed.add(_row(row, _status(inv, resource, effective, done)))


def _status(inv: Invocation, resource: ConfigResource, effective: Any, done: set[ConfigResource]) -> str:
    if resource not in done:
        return "failed"
    if resource not in effective:
        return "unchanged"
    return "planned" if inv.dry_run else "changed"


def _row(row: PlannedChange, status: str) -> dict[str, Any]:
    return {
        "name": shown_name(row.resource),
        "key": row.change.name,
        "operation": row.change.op.name.lower(),
        "old": row.old,
        "old_source": row.old_source,
        "new": row.new,
        "new_source": row.new_source,
        "sensitive": row.sensitive,
        "status": status,
    }
