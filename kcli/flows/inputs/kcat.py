"""``-i kcat``: the JSON lines of ``kcat -C -J`` (and of ``kcli consume -o kcat``).

Its keys are ``key``, ``payload``, ``ts``, ``partition`` and ``headers``, a flat list of name, value, name, value. kcat
passes bytes through that are not UTF-8, which is not valid JSON; they are kept here. Without ``ts`` a record gets the
current time; null and −1 are Kafka's "no timestamp".
"""

import json
from typing import Any

import msgspec

from kcli.core.types import Header
from kcli.flows.inputs.input_format import Encoding, HeaderBlocks
from kcli.flows.inputs.item import BadLine, InputRow
from kcli.flows.inputs.lines import ParseLine
from kcli.flows.inputs.ndjson import NOT_JSON, JsonLineParser, bad_json, check_partition, timestamp_of

_NAMES = ("key", "payload", "ts", "partition", "headers")
_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def kcat_parser(blocks: HeaderBlocks, encoding: Encoding | None = None, *, longest: int) -> JsonLineParser:
    """The parser for ``-i kcat``; blank lines are skipped. With ``-s`` a key or payload may be any JSON."""
    return JsonLineParser(_reader(blocks, encoding or Encoding()), _NAMES, longest=longest)


def _reader(blocks: HeaderBlocks, how: Encoding) -> ParseLine:
    def data(found: dict[str, Any], name: str, part: str) -> bytes | None:
        value = found.get(name)
        if isinstance(value, msgspec.Raw):
            return how.json(part, bytes(value), None)
        return _data(value, name)

    def parse(line: bytes, number: int) -> InputRow | None:
        if not line or line.isspace():
            return None
        found = _decode_some(line, how) if how else _decode(line)
        if not isinstance(found, dict):
            raise BadLine("it is no JSON object", 1)
        if "payload" not in found:
            raise BadLine("it has no `payload`: is it a line of `kcat -J`?")
        timestamp = timestamp_of(_integer(found, "ts")) if "ts" in found else None
        partition = _integer(found, "partition")
        check_partition(partition)
        headers = blocks.of(_headers(found.get("headers")))
        key, value = data(found, "key", "key"), data(found, "payload", "value")
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


def _decode_some(line: bytes, how: Encoding) -> Any:
    """Decodes all but what a serde will read, which stays as it is written."""
    try:
        found = _decode_members(line)
    except msgspec.ValidationError:  # no object
        return None
    except NOT_JSON as error:
        raise bad_json(error, line) from None
    raw = {name for name, part in (("key", "key"), ("payload", "value")) if how.asked(part)}
    return {
        name: found[name] if name in raw else _decode(bytes(found[name])) for name in _NAMES if name in found
    }


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
