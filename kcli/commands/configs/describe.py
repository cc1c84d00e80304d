"""``kcli configs describe``: show configurations."""

from __future__ import annotations

from typing import Any

import click

from kcli.commands.configs._names import KIND, KIND_WORDS, resources
from kcli.commands.shared.cluster import connect, open_admin, readable
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.core.admin.configs import ConfigEntry, ConfigKind, ConfigResource
from kcli.core.classes import replace
from kcli.core.errors import KcliError
from kcli.flows.configs.key_changes import HIDDEN
from kcli.flows.configs.resources import described, no_subscription, shown_name
from kcli.flows.configs.units import with_unit
from kcli.output.listing import list_rows
from kcli.output.tables import Column

Described = dict[ConfigResource, list[ConfigEntry] | KcliError]

_COLUMNS = (
    Column("name", meaning="Name of the resource."),
    Column("key", values="string", meaning="The key, as Kafka names it."),
    Column("value", "prose", meaning="The value; null where there is none, and of secrets."),
    Column("source", meaning="Where it comes from: topic, broker, default, …"),
    Column("read_only", spare=1, values="boolean", meaning="Whether it cannot be changed while brokers run."),
    Column("sensitive", wide=True),
    Column("type", wide=True, meaning="Type of the value, as the broker says."),
)
WITH_ORIGIN = (
    *_COLUMNS[:3],
    replace(_COLUMNS[3], spare=1),  # the first of the origin
    replace(_COLUMNS[4], spare=2),
    *_COLUMNS[5:],
    Column(
        "origin",
        "prose",
        values="objects",
        inner=(
            Column("key", values="string", meaning="The key that was set."),
            Column("value", meaning="The value; null of secrets."),
            Column("source", values="string", meaning="Where it comes from."),
        ),
        meaning="With --origin: all values that there are, the one in effect first.",
        sometimes=True,
    ),
)


@command(
    "describe",
    examples=(
        ("kcli configs describe topics orders payments", "what is set, and where"),
        ("kcli configs describe topics orders --all", "defaults too"),
        ("kcli configs describe brokers 1 2 --origin", "every place where a key is set"),
        ("kcli configs describe brokers default", "the default of all brokers"),
        ("kcli configs describe groups billing --all -o json", "for scripts"),
        ("kcli configs describe broker-loggers 1", "the levels of a broker's loggers"),
        ("kcli configs describe client-metrics apps", "what clients push to the brokers"),
    ),
)
@click.argument("kind", type=KIND, metavar=KIND_WORDS)
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@option("--all", "every", is_flag=True, help="show defaults too")
@option("--origin", is_flag=True, help="show every place where a key is set, the strongest first")
@pass_invocation
def describe_configs(inv: Invocation, kind: str, names: tuple[str, ...], every: bool, origin: bool) -> int:
    """Show configurations: each value with where it comes from.

    Without --all, only keys that are set somewhere.

    SOURCE is where the value in force is set: topic, group, dynamic broker (one broker, at run time), dynamic default
    (all brokers, at run time), static broker (the broker's file) or default. A broker is named by its id; `default`
    is the default of all brokers. Values of secrets are never shown.

    Of broker-loggers the keys are loggers and the values levels: without --all, those that differ from the logger above
    them. Client metrics are subscriptions by which brokers ask clients for metrics; `kcli configs list` lists them.
    """
    wanted = resources("describe", kind, names)
    inv.page()
    with open_admin(inv) as admin:
        cluster = connect(inv, admin)
        found = readable(inv, _existing(described(admin, wanted)), "the configuration of")
    structured = inv.out.list_kind() in ("json", "ndjson", "yaml")
    units = inv.out.list_kind() in ("table", "wide")
    columns = WITH_ORIGIN if origin else _COLUMNS
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
                rows.add(_row(resource, entry, structured=structured, origin=origin, units=units))
            if not shown:
                inv.talk.note(f"{resource}: nothing is set" + ("" if every else "; --all shows defaults"))
    return inv.finish(done=bool(found))


def _existing(found: Described) -> Described:
    """Client metrics of which no key is set do not exist: brokers describe the defaults of any name."""
    return {
        resource: no_subscription(resource.name)
        if resource.kind is ConfigKind.CLIENT_METRICS
        and not isinstance(entries, KcliError)
        and all(entry.is_default for entry in entries)
        else entries
        for resource, entries in found.items()
    }


def _row(
    resource: ConfigResource, entry: ConfigEntry, *, structured: bool, origin: bool, units: bool
) -> dict[str, Any]:
    value = with_unit(entry.name, entry.value) if units and entry.value else entry.value
    hidden = None if structured else HIDDEN
    row: dict[str, Any] = {
        "name": shown_name(resource),
        "key": entry.name,
        "value": hidden if entry.is_sensitive else value,
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
