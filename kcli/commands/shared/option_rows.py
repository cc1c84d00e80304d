"""Client options as a list: what ``kcli config show`` and ``kcli profile show`` print."""

from collections.abc import Iterable, Mapping
from typing import Any

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.output.tables import Column
from kcli.profiles.resolve import HIDDEN
from kcli.profiles.secret_keys import SecretSource

_COLUMNS = (Column("key"), Column("value", "prose"))
_ORIGIN = Column("origin", "prose")


def print_values(
    inv: Invocation, rows: Iterable[dict[str, Any]], *, origin: bool, profile: str | None
) -> None:
    """Options as a list; documents have the origins in any case."""
    columns = (*_COLUMNS, _ORIGIN) if origin or is_structured(inv) else _COLUMNS
    head: Mapping[str, object] = {"profile": profile}
    keys = [column.key for column in columns]
    shown = (row if len(columns) > len(_COLUMNS) else {key: row[key] for key in keys} for row in rows)
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
