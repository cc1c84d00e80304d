"""Client options as a list: what ``kcli config show`` and ``kcli profile show`` print."""

from collections.abc import Iterable, Mapping
from typing import Any

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.output.tables import Column
from kcli.profiles.resolve import HIDDEN
from kcli.profiles.secret_keys import SecretSource

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


def print_values(
    inv: Invocation, rows: Iterable[dict[str, Any]], *, origin: bool, profile: str | None
) -> None:
    """Options as a list; documents have the origins in any case."""
    columns = (*COLUMNS, _ORIGIN) if origin or is_structured(inv) else COLUMNS
    head: Mapping[str, object] = {"profile": profile}
    keys = [column.key for column in columns]
    shown = (row if len(columns) > len(COLUMNS) else {key: row[key] for key in keys} for row in rows)
    print_rows(inv, "ClientConfigList", columns, shown, item="ClientConfig", head=head)


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


def is_structured(inv: Invocation) -> bool:
    """Whether the list is a document."""
    return inv.out.list_kind() in ("json", "ndjson", "yaml")
