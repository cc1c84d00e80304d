"""What of a record its value names: ``--key-from``, ``--headers-from`` and ``--partition-from``, of values that are JSON.

A value that lacks one of them, or has null there, is bad input: no record gets a null key, or a partition that nobody
chose, because a member is missing. Loaded only where one of the options is given.
"""

from typing import Any

from kcli.core.kernels.active import decode_headers, encode_headers
from kcli.core.types import Header
from kcli.flows.filters.field_paths import JsonPaths
from kcli.flows.filters.json_value import Decode, RepeatedError
from kcli.flows.inputs.input_format import Encoding, FromValue, text_bytes
from kcli.flows.inputs.item import BadInput, BadLine, InputRow, Item, Parser
from kcli.flows.inputs.ndjson import check_partition
from kcli.serde.json_text import dump_json

_WRONG_JSON = (ValueError, RecursionError)


class FromValueParser:
    """The output of ``parser`` with what the values name; the key is encoded by the serde for keys, if there is one.

    The values are the texts before they are encoded. Names and texts of headers precede headers that records have.
    """

    def __init__(self, parser: Parser, named: FromValue, encoding: Encoding) -> None:
        self._parser = parser
        self._named = named
        self._encoding = encoding
        asked = [field for field in named if field is not None]
        self._asked = asked
        self._json = JsonPaths([field.path for field in asked], every=named.headers is not None)
        self._block = b""  # of the record before: often the same
        self._headers: tuple[Header, ...] = ()

    def feed(self, data: bytes) -> list[Item]:
        """See Parser."""
        return self._completed(self._parser.feed(data))

    def finish(self) -> list[Item]:
        """See Parser."""
        return self._completed(self._parser.finish())

    def _completed(self, items: list[Item]) -> list[Item]:
        values = [item.value for item in items if type(item) is InputRow and item.value is not None]
        read = self._json.quick(values)
        return [item if type(item) is BadInput else self._item(item, read) for item in items]

    def _item(self, row: Any, read: Decode) -> Item:
        try:
            return self._row(row, read)
        except BadLine as bad:
            return BadInput(row.line, bad.column, bad.reason, row.raw)

    def _row(self, row: InputRow, read: Decode) -> InputRow:
        found = iter(self._cells(row.value, read))
        named = self._named
        key, headers, partition = row.key, row.headers, row.partition
        if named.key is not None:
            key = self._key(next(found))
        if named.headers is not None:
            headers = self._with_headers(headers, next(found), named.headers.name)
        if named.partition is not None:
            partition = _partition(next(found), named.partition.name)
        return row._replace(key=key, headers=headers, partition=partition)

    def _cells(self, value: bytes | None, read: Decode) -> list[Any]:
        if value is None:
            raise BadLine(f"its value is null, and has no {self._asked[0].name}")
        try:
            cells = self._json.cells(read(value))
        except _WRONG_JSON:  # a quick reader is stricter than JSON, or right
            cells = self._checked(value)
        for field, cell in zip(self._asked, cells, strict=True):
            if cell is None:
                raise BadLine(f"its value has no {field.name}, or null there")
        return list(cells)

    def _checked(self, value: bytes) -> Any:
        try:
            return self._json.checked(value)
        except RepeatedError as error:
            raise BadLine(f"its value is ambiguous: {error}") from None
        except _WRONG_JSON:
            raise BadLine(f"its value is not JSON, so it has no {self._asked[0].name}") from None

    def _key(self, cell: Any) -> bytes | None:
        if self._encoding.asked("key"):
            return self._encoding.json("key", text_bytes(dump_json(cell), "key"), None)
        return _text(cell, "key")

    def _with_headers(self, block: bytes, cell: Any, path: str) -> bytes:
        if not isinstance(cell, dict):
            raise BadLine(f"{path} is not an object: its members are the headers")
        if block != self._block:
            self._block, self._headers = block, decode_headers(block, 0, len(block))
        named: list[Header] = [
            (name, None if held is None else _text(held, "value of a header")) for name, held in cell.items()
        ]
        for name, _held in named:
            text_bytes(str(name), "name of a header")
        return encode_headers([*named, *self._headers])


def _text(cell: Any, what: str) -> bytes:
    """A text as it is, anything else as JSON."""
    return text_bytes(cell if isinstance(cell, str) else dump_json(cell), what)


def _partition(cell: Any, path: str) -> int:
    if type(cell) is not int:
        raise BadLine(f"{path} is not a whole number: it is the partition")
    check_partition(cell)
    return cell
