"""What of a record its value names: ``--key-from``, ``--headers-from`` and ``--partition-from``, of values that are JSON.

A value that lacks one of them, or has null there, is bad input: no record gets a null key, or a partition that nobody
chose, because a member is missing. Loaded only where one of the options is given.
"""

from collections.abc import Sequence
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
        self._asked = [field for field in named if field is not None]
        paths = [field.path for field in self._asked]
        # Of an object all members are used, which is costly to check and needed where one may be.
        self._of_objects = JsonPaths(paths, every=True)
        self._json = self._of_objects if named.headers is not None else JsonPaths(paths)
        self._block = b""  # of the record before: often the same
        self._headers: tuple[Header, ...] = ()

    @property
    def header(self) -> bytes | None:
        """The header line of csv."""
        return getattr(self._parser, "header", None)

    def feed(self, data: bytes) -> list[Item]:
        """See Parser."""
        return self._completed(self._parser.feed(data))

    def finish(self) -> list[Item]:
        """See Parser."""
        return self._completed(self._parser.finish())

    def _completed(self, items: list[Item]) -> list[Item]:
        values = [item.value for item in items if type(item) is InputRow and item.value is not None]
        read = self._json.quick(values)
        return [self._item(item, read) if type(item) is InputRow else item for item in items]

    def _item(self, row: InputRow, read: Decode) -> Item:
        named, (line, key, value, headers, timestamp, partition, raw) = self._named, row
        try:
            found = self._cells(value, read)
            if value and self._json is not self._of_objects and isinstance(found[0], dict | list):
                found = self._checked(self._of_objects, value)
            cells = iter(found)
            if named.key is not None:
                key = self._key(next(cells))
            if named.headers is not None:
                headers = self._with_headers(headers, next(cells), named.headers.name)
            if named.partition is not None:
                partition = _partition(next(cells), named.partition.name)
        except BadLine as bad:
            return BadInput(line, bad.column, bad.reason, raw)
        return InputRow(line, key, value, headers, timestamp, partition, raw)

    def _cells(self, value: bytes | None, read: Decode) -> Sequence[Any]:
        if value is None:
            raise BadLine(f"its value is null, and has no {self._asked[0].name}")
        try:
            cells = self._json.cells(read(value))
        except _WRONG_JSON:  # a quick reader is stricter than JSON, or right
            cells = self._checked(self._json, value)
        if None in cells:
            missing = self._asked[cells.index(None)]
            raise BadLine(f"its value has no {missing.name}, or null there")
        return cells

    def _checked(self, paths: JsonPaths, value: bytes) -> Sequence[Any]:
        try:
            return paths.checked(value)
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
