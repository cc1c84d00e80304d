"""What ``kcli configs describe`` does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kcli.commands._config_resources import explained, resources, shown_name
from kcli.commands.shared.cluster import connect, open_admin, readable
from kcli.commands.shared.context import Invocation
from kcli.core.admin.configs import ConfigEntry, ConfigResource
from kcli.core.errors import KcliError
from kcli.flows.config_changes import HIDDEN
from kcli.output.listing import list_rows
from kcli.output.tables import Column

_COLUMNS = (
    Column("name"),
    Column("key"),
    Column("value", "prose"),
    Column("source"),
    Column("read_only", spare=1),
    Column("sensitive", wide=True),
    Column("type", wide=True),
)
_WITH_ORIGIN = (
    *_COLUMNS[:3],
    Column("source", spare=1),  # the first of the origin
    Column("read_only", spare=2),
    *_COLUMNS[5:],
    Column("origin", "prose"),
)


def describe(inv: Invocation, kind: str, names: tuple[str, ...], every: bool, origin: bool) -> int:
    """Describes configurations. Returns the exit status."""
    wanted = resources("describe", kind, names)
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        answers = admin.describe_configs(wanted, synonyms=True)
        found = readable(
            inv,
            {
                one: explained(admin, one, outcome) if isinstance(outcome, KcliError) else outcome
                for one, outcome in answers.items()
            },
            "the configuration of",
        )
    structured = inv.out.list_kind() in ("json", "ndjson", "yaml")
    columns = _WITH_ORIGIN if origin else _COLUMNS
    if len(wanted) == 1:
        columns = (replace(columns[0], spare=3), *columns[1:])  # it is the same in all rows
    with list_rows(
        inv.out,
        "ConfigValueList",
        "ConfigValue",
        columns,
        cluster=cluster,
        warnings=inv.talk.warnings,
        missing=inv.missing,
    ) as rows:
        for resource, entries in found.items():
            shown = [entry for entry in entries if every or entry.source != "default"]
            shown.sort(key=lambda entry: entry.name)
            for entry in shown:
                rows.add(_row(resource, entry, structured=structured, origin=origin))
            if not shown:
                inv.talk.note(f"{resource}: nothing is set" + ("" if every else "; --all shows defaults"))
    return inv.finish(done=bool(found))


def _row(resource: ConfigResource, entry: ConfigEntry, *, structured: bool, origin: bool) -> dict[str, Any]:
    hidden = None if structured else HIDDEN
    row: dict[str, Any] = {
        "name": shown_name(resource),
        "key": entry.name,
        "value": hidden if entry.is_sensitive else entry.value,
        "source": entry.source,
        "read_only": entry.read_only,
        "sensitive": entry.is_sensitive,
        "type": entry.type or None,
    }
    if origin:
        places = [
            (name, hidden if entry.is_sensitive else value, source) for name, value, source in entry.synonyms
        ]
        row["origin"] = (
            [{"key": name, "value": value, "source": source} for name, value, source in places]
            if structured
            else "; ".join(_place(entry.name, *place) for place in places)
        )
    return row


def _place(key: str, name: str, value: str | None, source: str) -> str:
    """``default: delete``, or ``default: log.cleanup.policy=delete`` where the key there is another one."""
    return f"{source}: {value}" if name == key else f"{source}: {name}={value}"
