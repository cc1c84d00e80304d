"""JSON, NDJSON and YAML: one document with its items, streamed, closed validly whatever ends it."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.output.sanitise import visible_json, visible_yaml
from kcli.output.tables import Column, Row, Rows, time_text

if TYPE_CHECKING:
    from kcli.output.stdout import Output

API = "kcli/v1"

Entry = Mapping[str, object]
"""``{"what","where","why","code"}``."""


class JsonDocument(Rows):
    """``{"kind","api","cluster","at","items":[…],"warnings":[…],"complete":…,"missing":[…]}``, one item a line."""

    def __init__(
        self,
        out: "Output",
        columns: Sequence[Column],
        head: dict[str, Any],
        warnings: Sequence[str],
        missing: Sequence[Entry],
        tail: Mapping[str, object],
    ) -> None:
        super().__init__(out, columns)
        self._head, self._tail = head, tail
        self._warnings, self._missing = warnings, missing
        self._begun = False

    def put(self, row: Row) -> None:
        """Writes the item, with what separates it, at once: a signal that ends a watch comes before or after it."""
        self._begin()
        self.out.text((",\n" if self.count > 1 else "\n") + compact(item_of(self.columns, row)))

    def close(self) -> None:
        """Completes the document."""
        self._begin()
        self.out.text(("\n" if self.count else "") + f"],{compact(self._end())[1:]}\n")
        super().close()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self.out.text(compact(self._head)[:-1] + ',"items":[')

    def _end(self) -> dict[str, object]:
        missing = [*self._missing, *([_rest(self.cut)] if self.cut is not None else ())]
        return {**self._tail, **ending(self._warnings, missing)}


class JsonLines(Rows):
    """The bare items, each with its kind, one a line."""

    def __init__(self, out: "Output", columns: Sequence[Column], item: str) -> None:
        super().__init__(out, columns)
        self._item = item

    def put(self, row: Row) -> None:
        """Writes the item."""
        self.out.text(compact({"kind": self._item, **item_of(self.columns, row)}) + "\n")


class YamlDocument(JsonDocument):
    """The same document as block YAML; strings are in double quotes wherever YAML might read them otherwise."""

    def put(self, row: Row) -> None:
        """Writes the item."""
        lines = list(yaml_lines(item_of(self.columns, row)))
        self._begin()
        self.out.text("".join(f"{'- ' if i == 0 else '  '}{line}\n" for i, line in enumerate(lines)))

    def close(self) -> None:
        """Completes the document."""
        if not self._begun:
            self._begun = True
            self.out.text("".join(f"{line}\n" for line in yaml_lines({**self._head, "items": []})))
        self.out.text("".join(f"{line}\n" for line in yaml_lines(self._end())))
        Rows.close(self)

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self.out.text("".join(f"{line}\n" for line in yaml_lines(self._head)) + "items:\n")


def document(
    out: "Output",
    form: str,
    kind: str,
    item: str,
    columns: Sequence[Column],
    *,
    cluster: str | None,
    warnings: Sequence[str],
    missing: Sequence[Entry],
    fields: Mapping[str, object],
    tail: Mapping[str, object],
) -> Rows:
    """The document of the form ``json``, ``ndjson`` or ``yaml``. ``fields``: further ones of its head, ``tail``: of its
    end, read then; ``missing``: what could not be read, as ``account.survey`` makes it.
    """
    if form == "ndjson":
        return JsonLines(out, columns, item)
    head = {"kind": kind, "api": API, "cluster": cluster, "at": time_text(wall_ms()), **fields}
    return (JsonDocument if form == "json" else YamlDocument)(out, columns, head, warnings, missing, tail)


def record_document(
    cluster: Callable[[], str | None],
    warnings: Sequence[str],
    missing: Sequence[Entry],
    kind: str = "RecordList",
) -> tuple[Callable[[], bytes], Callable[[], bytes]]:
    """Head and tail of a list of records, for items that are encoded elsewhere; both look when they are written."""

    def head() -> bytes:
        fields = {"kind": kind, "api": API, "cluster": cluster(), "at": time_text(wall_ms())}
        return (compact(fields)[:-1] + ',"items":[').encode()

    def tail() -> bytes:
        return f"\n],{compact(ending(warnings, missing))[1:]}\n".encode()

    return head, tail


def ending(warnings: Sequence[str], missing: Sequence[Entry]) -> dict[str, object]:
    """What follows the items of a document."""
    return {"warnings": list(warnings), "complete": not missing, "missing": list(missing)}


def _rest(error: BaseException) -> Entry:
    """What an error or a signal has cut off."""
    why = str(error) if isinstance(error, KcliError) else "the command was stopped before the end"
    code = getattr(error, "exit_code", getattr(error, "code", None))
    return {
        "what": "the rest",
        "where": None,
        "why": why,
        "code": code if isinstance(code, int) else int(ExitCode.INTERRUPTED),
    }


def item_of(columns: Sequence[Column], row: Row) -> dict[str, Any]:
    """All columns in their order (unknown ones null), then what else the row has; times as text."""
    times = {column.key for column in columns if column.kind == "time"}
    item = {column.key: row.get(column.key) for column in columns} | dict(row)
    return {k: time_text(v) if k in times and isinstance(v, int) else v for k, v in item.items()}


def compact(value: Any) -> str:
    """JSON without blanks; characters that a terminal would obey are escapes, so the value is the same."""
    return visible_json(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_other))


def _other(value: object) -> str:
    return str(value)


_BARE = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*")
_NOT_TEXT = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))


def yaml_lines(value: Mapping[str, Any]) -> Iterator[str]:
    """A value as block YAML that readers of YAML 1.1 and 1.2 read alike."""
    for key, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            yield f"{_scalar(key)}:"
            yield from ("  " + line for line in yaml_lines(inner))
        elif isinstance(inner, list | tuple) and any(isinstance(e, Mapping | list | tuple) for e in inner):
            yield f"{_scalar(key)}:"
            for element in inner:
                nested = (
                    list(yaml_lines(element))
                    if isinstance(element, Mapping) and element
                    else [compact(element)]
                )
                yield from ("- " + line if i == 0 else "  " + line for i, line in enumerate(nested))
        elif isinstance(inner, list | tuple):
            yield f"{_scalar(key)}: [{', '.join(map(_scalar, inner))}]"
        else:
            yield f"{_scalar(key)}: {_scalar(inner)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _BARE.fullmatch(value) and value.lower() not in _NOT_TEXT:
        return value
    if isinstance(value, str):
        return visible_yaml(json.dumps(value, ensure_ascii=False))
    return compact(value)
