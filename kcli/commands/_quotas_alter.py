"""What ``kcli quotas alter`` does: a plan, a question, the change, and a check of the values afterwards."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from kcli.commands._quota_entity import ENTITY, entity_parts, entity_row, number, unit
from kcli.commands._read_back import wait_until_empty
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.confirm import confirm
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import parse_size
from kcli.commands.shared.plan_output import not_checked, show_plan_only
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.usage import nearest, usage
from kcli.core.admin.acls import AclOperation, is_allowed
from kcli.core.admin.admin import Admin
from kcli.core.admin.quotas import IP, QuotaEntity
from kcli.core.error_codes import CLUSTER_AUTHORIZATION_FAILED
from kcli.core.errors import BrokerError, KcliError, NotValidatedError
from kcli.core.permissions import on_cluster
from kcli.flows.quotas import (
    BYTES,
    KEYS_OF_CLIENTS,
    KEYS_OF_IPS,
    UNITS,
    QuotaChange,
    not_applied,
    number_text,
    parse_plain,
    planned,
)
from kcli.flows.read_back import NotAppliedError, ReadBackError
from kcli.output.progress import counted
from kcli.output.tables import Column

_COLUMNS = (
    *ENTITY,
    Column("key"),
    Column("old", "number"),
    Column("new", "number"),
    Column("unit", spare=1),
    Column("status"),
)


def alter(
    inv: Invocation,
    user: str | None,
    of_client_id: str | None,
    ip: str | None,
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
) -> int:
    """Changes quotas. Returns the exit status."""
    parts = entity_parts("alter", user, of_client_id, ip)
    _check_entity(parts)
    changes = _changes(sets, unsets, KEYS_OF_IPS if IP in parts else KEYS_OF_CLIENTS)
    entity = QuotaEntity.of(parts.items())
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        before = _read(admin, entity)
        _check_unsets(changes, before, parts)
        plan = planned(before, changes)
        effective = [change for change in plan if change.has_effect]
        status = {change.key: "planned" if change.has_effect else "unchanged" for change in plan}
        text = _text(entity, plan)
        if effective:
            text += _check(inv, admin, entity, effective)
        if inv.dry_run or not effective:
            rows = _rows(entity, plan, status)
            show_plan_only(inv, text, _COLUMNS, rows, cluster, kind="QuotaAlterPlan")
            _warn(inv, user)
        else:
            question = f"Change {counted(len(effective), 'quota')} of {entity}?"
            confirm(inv, text, question, remarks=lambda: _warn(inv, user))
            status |= _altered(inv, admin, entity, effective)
    if not effective:
        inv.talk.note(f"nothing is to be changed: the quotas of {entity} are as requested")
    if not inv.dry_run and inv.out.kind is not None:
        print_rows(inv, "QuotaAlterReport", _COLUMNS, _rows(entity, plan, status), cluster)
    return inv.finish(done="changed" in status.values())


def _check(inv: Invocation, admin: Admin, entity: QuotaEntity, effective: Sequence[QuotaChange]) -> str:
    """Has the brokers check the change; a line of the plan where they might make it, so that they were not asked."""
    try:
        admin.alter_quotas(entity, _wanted(effective), validate_only=True)
    except NotValidatedError as error:
        operations = admin.describe_cluster(include_operations=True).operations
        if not is_allowed(operations, AclOperation.ALTER_CONFIGS):
            what, needed = f"changing the quotas of {entity}", [on_cluster("ALTER_CONFIGS")]
            raise BrokerError(CLUSTER_AUTHORIZATION_FAILED, what, needs=needed) from None
        inv.talk.warnings.append(not_checked(error))
        return f"\n{not_checked(error)}"
    return ""


def _warn(inv: Invocation, user: str | None) -> None:
    """Brokers look up quotas by the name of the user, without the type of the principal."""
    kind, sign, name = (user or "").partition(":")
    if sign and kind == "User":
        inv.talk.warn(
            f"the name is taken literally, and the quota does not apply to the principal {user}: its user is {name}"
        )


def _check_entity(parts: Mapping[str, str | None]) -> None:
    if not parts:
        raise usage(
            "quotas alter: missing option --user, --client-id or --ip",
            why="a quota is for a user, for clients with an id, or for an IP address",
            do="add --user alice, for example; --user '<default>' is for all users without quotas of their own",
        )
    address = parts.get(IP)
    if address is not None:
        try:
            ipaddress.ip_address(address)
        except ValueError:
            raise usage(
                f"quotas alter: --ip {address} is not an IP address",
                why="brokers limit the connections from single addresses, not from names or ranges",
                do="write --ip 192.0.2.7, for example, or --ip '<default>' for all other addresses",
            ) from None


def _changes(sets: Sequence[str], unsets: Sequence[str], keys: Sequence[str]) -> dict[str, float | None]:
    """Key → new value, None for one to be removed. Removed keys are checked later: brokers may have others."""
    found: dict[str, float | None] = {}
    for option, text in (*(("--set", text) for text in sets), *(("--unset", text) for text in unsets)):
        key, sign, value = map(str.strip, text.partition("="))
        if not key or bool(sign) != (option == "--set"):
            raise usage(
                f"quotas alter: {option} {text} is not {'KEY=VALUE' if option == '--set' else 'a key'}",
                why="there is no key" if not key else "--unset takes a key only" if sign else "there is no =",
                do=f"write --set {keys[0]}={_EXAMPLES[UNITS[keys[0]]]} or --unset {keys[0]}, for example",
            )
        if key in found:
            raise usage(
                f"quotas alter: {key} is changed twice",
                why="a key can be changed once at a time",
                do="name it once",
            )
        if option == "--set":
            _check_key(key, keys)
        found[key] = _value(key, value) if option == "--set" else None
    if not found:
        raise usage(
            "quotas alter: nothing to change",
            why="neither --set nor --unset was given",
            do=f"write --set {keys[0]}={_EXAMPLES[UNITS[keys[0]]]}, for example",
        )
    return found


_EXAMPLES = {BYTES: "10MB/s"} | dict.fromkeys((unit for unit in UNITS.values() if unit != BYTES), "10")


def _check_key(key: str, keys: Sequence[str]) -> None:
    if key in keys:
        return
    near = nearest(key, keys)
    of = "an IP address" if keys is KEYS_OF_IPS else "a user or client id"
    elsewhere = "--user or --client-id" if keys is KEYS_OF_IPS else "--ip"
    raise usage(
        f"quotas alter: {of} has no quota {key}",
        why=f"{key} is a quota of {'users and client ids' if keys is KEYS_OF_IPS else 'IP addresses'}"
        if key in UNITS
        else f"its {'keys are' if len(keys) > 1 else 'only key is'} {', '.join(keys)}",
        do=f"use it with {elsewhere}"
        if key in UNITS
        else f"did you mean {near}?"
        if near
        else "`kcli quotas alter --help` explains the keys",
    )


def _check_unsets(
    changes: Mapping[str, float | None], before: Mapping[str, float], parts: Mapping[str, str | None]
) -> None:
    for key, value in changes.items():
        if value is None and key not in before:
            _check_key(key, KEYS_OF_IPS if IP in parts else KEYS_OF_CLIENTS)


def _value(key: str, text: str) -> float:
    try:
        in_bytes = UNITS[key] == BYTES
        value = float(parse_size(text.removesuffix("/s"))) if in_bytes else parse_plain(text, UNITS[key])
        if value <= 0:
            raise ValueError("a quota must be more than 0; --unset removes it")
    except ValueError as error:
        raise usage(
            f"quotas alter: --set {key}={text} is not valid",
            why=str(error),
            do=f"write --set {key}={_EXAMPLES[UNITS[key]]}, for example",
        ) from None
    return value


def _read(admin: Admin, entity: QuotaEntity) -> dict[str, float]:
    """The quotas of the entity itself."""
    return admin.describe_quotas(dict(entity.parts), strict=True).get(entity, {})


def _wanted(changes: Sequence[QuotaChange]) -> dict[str, float | None]:
    return {change.key: change.new for change in changes}


def _altered(
    inv: Invocation, admin: Admin, entity: QuotaEntity, effective: list[QuotaChange]
) -> dict[str, str]:
    """The status of each key; errors are reported."""
    keys = [change.key for change in effective]
    see = "`kcli quotas list` shows the quotas"
    admin.alter_quotas(entity, _wanted(effective))
    try:
        wrong = wait_until_empty(inv, admin, lambda: not_applied(effective, _read(admin, entity)))
    except KcliError as error:
        inv.failed(
            ReadBackError(f"the quotas of {entity} were changed, but not read back", why=str(error), do=see)
        )
        return dict.fromkeys(keys, "unknown")
    for change in wrong:
        inv.failed(
            NotAppliedError(
                f"{change.key} of {entity} was changed, and does not have the new value", [change.key], do=see
            )
        )
    bad = {change.key for change in wrong}
    if len(bad) < len(keys):
        inv.talk.note(f"changed {counted(len(keys) - len(bad), 'quota')} of {entity}, read back")
    return {key: "failed" if key in bad else "changed" for key in keys}


def _text(entity: QuotaEntity, plan: Sequence[QuotaChange]) -> str:
    lines = [f"Change the quotas of {entity}:"]
    for change in plan:
        old, new = _shown(change.old, change.key), _shown(change.new, change.key)
        lines.append(f"  {change.key}: {f'{old} → {new}' if change.has_effect else f'{old} stays'}")
    return "\n".join(lines)


def _shown(value: float | None, key: str) -> str:
    if value is None:
        return "not set"
    return f"{number_text(value)} {unit(key) or ''}".rstrip()


def _rows(
    entity: QuotaEntity, plan: Sequence[QuotaChange], status: Mapping[str, str]
) -> list[dict[str, Any]]:
    return [
        entity_row(entity)
        | {
            "key": change.key,
            "old": number(change.old),
            "new": number(change.new),
            "unit": unit(change.key),
            "status": status[change.key],
        }
        for change in plan
    ]
