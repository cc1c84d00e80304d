"""``--where EXPR``: a JMESPath expression on a record whose value is JSON.

It sees ``{key, value, headers, topic, partition, offset, timestamp}``: the value parsed, of each header's name its last
value, bytes that are not UTF-8 as base64. A record is wanted where the result is true as JMESPath has it: not null,
false, or an empty text, list or object. A value that is not JSON does not match, and is counted. With ``-s`` key and
value are what their serdes make of them, and a value that cannot be decoded does not match.
"""

from base64 import b64encode
from typing import TYPE_CHECKING, Any

from kcli.core.errors import ConfigError
from kcli.flows.filters.batch_fields import BatchFields
from kcli.flows.filters.grep import raw_name
from kcli.flows.filters.selection import Mask, both
from kcli.serde.errors import DecodeError

if TYPE_CHECKING:
    from kcli.flows.filters.decoded import DecodedField


class Where:
    """``not_json`` counts the values that could not be parsed; ``failed`` results that are errors of types.

    ``undecoded`` counts the values that ``value``, a serde's, could not read; ``first`` is what was wrong with one.
    """

    def __init__(
        self, expression: str, key: "DecodedField | None" = None, value: "DecodedField | None" = None
    ) -> None:
        """ConfigError for what is not JMESPath."""
        import jmespath
        import jmespath.exceptions
        import msgspec

        try:
            compiled = jmespath.compile(expression)
        except jmespath.exceptions.JMESPathError as error:
            raise _no_expression(expression, " ".join(str(error).split())) from None
        _check_functions(expression, compiled.parsed)
        self._search = compiled.search
        self._wrong_type = jmespath.exceptions.JMESPathError
        self._parse = msgspec.json.decode
        self._key, self._value = key, value
        self.not_json = self.undecoded = 0
        self.first = ""
        self.failed = 0

    def keep(self, fields: BatchFields, mask: Mask) -> bool:
        """See Filter."""
        hits = Mask(wanted and self._wants(fields, index) for index, wanted in enumerate(mask))
        return both(mask, hits)

    def _wants(self, fields: BatchFields, index: int) -> bool:
        try:
            value = self._value_of(fields, index)
        except DecodeError as error:
            self.undecoded += 1
            self.first = self.first or f"{fields.where}@{fields.offset(index)}: {error}"
            return False
        except (ValueError, RecursionError):
            self.not_json += 1
            return False
        try:
            return _is_true(self._search(_document(fields, index, self._key_of(fields, index), value)))
        except (self._wrong_type, TypeError):
            self.failed += 1
            return False

    def _value_of(self, fields: BatchFields, index: int) -> Any:
        if self._value is not None:
            return self._value.value(fields, index)
        data = fields.value(index)
        return None if data is None else self._parse(data)

    def _key_of(self, fields: BatchFields, index: int) -> Any:
        if self._key is not None:
            try:
                return self._key.value(fields, index)
            except DecodeError:
                pass
        return _text(fields.key(index))


def _no_expression(expression: str, why: str) -> ConfigError:
    return ConfigError(
        f"--where {expression!r} is not a JMESPath expression",
        why=why,
        do="as in --where 'value.status == `500` && key'; see jmespath.org",
    )


def _check_functions(expression: str, node: Any) -> None:
    """The library looks for functions when it first calls them: one that is not there would fail for every record."""
    from jmespath.functions import Functions

    if not isinstance(node, dict):
        return
    name = node["value"] if node["type"] == "function_expression" else None
    if name is not None and name not in Functions.FUNCTION_TABLE:
        raise _no_expression(expression, f"there is no function {name}()")
    for child in node["children"]:
        _check_functions(expression, child)


def _document(fields: BatchFields, index: int, key: Any, value: Any) -> dict[str, Any]:
    return {
        "key": key,
        "value": value,
        "headers": {_text(raw_name(name)): _text(held) for name, held in fields.headers(index)},
        "topic": fields.where.topic,
        "partition": fields.where.partition,
        "offset": fields.offset(index),
        "timestamp": fields.timestamp(index),
    }


def _text(data: bytes | None) -> str | None:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return b64encode(data).decode()


def _is_true(result: Any) -> bool:
    """As JMESPath says: 0 is true."""
    return result is not None and result is not False and result not in ("", [], {})
