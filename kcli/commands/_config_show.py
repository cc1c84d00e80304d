"""What ``kcli config show`` and ``kcli profile show`` do."""

from collections.abc import Iterable, Mapping
from typing import Any

from kcli.commands.shared.configuration import report_sources
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.sources import sources_of
from kcli.core.errors import ConfigError
from kcli.core.options import key_of
from kcli.output.tables import Column
from kcli.profiles.resolve import HIDDEN, NoBrokerError, Resolved, resolve, shown_values
from kcli.profiles.secret_keys import SecretSource
from kcli.sandbox.discovery import find_sandbox
from kcli.sandbox.errors import SeveralSandboxesError

COLUMNS = (
    Column("key", values="string", meaning="The key of the option."),
    Column("value", "prose", values="scalar?", meaning="The value; null for secrets."),
)
_ORIGIN = Column("origin", "prose", values="string", meaning="Where it was set.")
FURTHER = (
    _ORIGIN,
    Column("sensitive", sometimes=True),
    Column("secret_source", meaning="Where a secret comes from; null for what is none.", sometimes=True),
)
HEAD = (Column("profile", meaning="Name of the profile in use; null without one."),)


def show(inv: Invocation, *, origin: bool) -> int:
    """Lists the options of all sources."""
    resolved = _resolved(inv)
    report_sources(inv.talk, resolved)
    name = resolved.profile.name if resolved.profile is not None else None
    print_values(inv, _rows(resolved, structured=_structured(inv)), origin=origin, profile=name)
    return 0


def _resolved(inv: Invocation) -> Resolved:
    """With the options of a running sandbox where no brokers are named, if there is one."""

    def sandbox() -> tuple[str, Mapping[str, str]] | None:
        try:
            return find_sandbox()
        except SeveralSandboxesError as error:
            inv.talk.note(f"{error.what} ({error.why}): no option is from a sandbox")
            return None

    def report(error: ConfigError) -> None:
        if not isinstance(error, NoBrokerError):
            raise error

    return resolve(sources_of(inv.values, sandbox), report=report)


def print_values(
    inv: Invocation, rows: Iterable[dict[str, Any]], *, origin: bool, profile: str | None
) -> None:
    """Options as a list; documents have the origins in any case."""
    columns = (*COLUMNS, _ORIGIN) if origin or _structured(inv) else COLUMNS
    head: Mapping[str, object] = {"profile": profile}
    keys = [column.key for column in columns]
    shown = (row if len(columns) > len(COLUMNS) else {key: row[key] for key in keys} for row in rows)
    print_rows(inv, "ClientConfigList", columns, shown, item="ClientConfig", head=head)


def _rows(resolved: Resolved, *, structured: bool) -> Iterable[dict[str, Any]]:
    sources = {**resolved.registry, **resolved.values}
    for name, value, secret, origin in shown_values(resolved):
        yield value_row(key_of(name), value, sources[name], secret, origin, structured=structured)


def value_row(
    key: str, shown: Any, value: Any, secret: bool, origin: str, *, structured: bool
) -> dict[str, Any]:
    """A row of the list; in a document a secret is null, and where it is read from is a key of its own."""
    row = {"key": key, "value": None if structured and secret else shown, "origin": origin}
    if structured:
        row["sensitive"] = secret
        row["secret_source"] = str(value)[1:-1] if isinstance(value, SecretSource) else None
    elif shown is True or shown is False:
        row["value"] = str(shown).lower()
    elif secret and not isinstance(value, SecretSource):
        row["value"] = HIDDEN
    return row


def _structured(inv: Invocation) -> bool:
    return inv.out.list_kind() in ("json", "ndjson", "yaml")
