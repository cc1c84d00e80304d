"""``-i kcat``: the JSON lines of ``kcat -C -J`` (and of ``kcli consume -o kcat``).

Its keys are ``key``, ``payload``, ``ts``, ``partition`` and ``headers``, a flat list of name, value, name, value. kcat
passes bytes through that are not UTF-8, which is not valid JSON; they are kept here.
"""

import json
from typing import Any

import msgspec

from kcli.core.types import Header
from kcli.flows.inputs.encoding import Encoding
from kcli.flows.inputs.headers import HeaderBlocks
from kcli.flows.inputs.item import BadLine, InputRow
from kcli.flows.inputs.lines import ParseLine
from kcli.flows.inputs.ndjson import NOT_JSON, bad_json, check_numbers
from kcli.serde.json_text import parse_json


def kcat_reader(blocks: HeaderBlocks, encoding: Encoding | None = None) -> ParseLine:
    """Reads a line; blank lines are skipped. Where ``-s`` names a serde, a key or payload may be any JSON."""
    how = encoding or Encoding()

    def data(value: Any, what: str, part: str) -> bytes | None:
        return how.value(part, value, None) if how.asked(part) else _data(value, what)

    def parse(line: bytes, number: int) -> InputRow | None:
        if not line or line.isspace():
            return None
        found = _decode_exactly(line) if how else _decode(line)
        if not isinstance(found, dict):
            raise BadLine("it is no JSON object", 1)
        if "payload" not in found:
            raise BadLine("it has no `payload`: is it a line of `kcat -J`?")
        timestamp, partition = _integer(found, "ts"), _integer(found, "partition")
        timestamp = None if timestamp is not None and timestamp < 0 else timestamp
        check_numbers(timestamp, partition)
        headers = blocks.of(_headers(found.get("headers")))
        key, value = data(found.get("key"), "key", "key"), data(found["payload"], "payload", "value")
        return InputRow(number, key, value, headers, timestamp, partition, line)

    return parse


def _decode(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except NOT_JSON as error:
        try:  # bytes that are not UTF-8 are in it unescaped
            return json.loads(line.decode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError):
            raise bad_json(error, line) from None


def _decode_exactly(line: bytes) -> Any:
    """Decodes numbers of any size without loss."""
    try:
        return parse_json(line)
    except ValueError:  # its error has no column
        return _decode(line)


def _integer(found: dict[str, Any], name: str) -> int | None:
    value = found.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise BadLine(f"`{name}` is {json.dumps(value)[:40]}, not a whole number")


def _data(value: Any, what: str) -> bytes | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadLine(f"`{what}` is neither a string nor null")
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise BadLine(f"`{what}` has half of a surrogate pair, which is no text") from None


def _headers(flat: Any) -> list[Header]:
    if flat is None:
        return []
    if not isinstance(flat, list) or len(flat) % 2:
        raise BadLine("`headers` is no flat list of names and values")
    names = [_data(name, "headers") for name in flat[::2]]
    return [(name or b"", _data(value, "headers")) for name, value in zip(names, flat[1::2], strict=True)]
