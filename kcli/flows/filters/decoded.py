"""Keys and values as filters see them where ``-s`` names a serde: decoded. Only for records that a filter reads."""

from typing import Any

from kcli.flows.filters.selection import BatchFields
from kcli.serde.errors import DecodeError
from kcli.serde.serde import Serde, SerdeContext


class DecodedField:
    """The key or the value (``part``) of records, decoded by ``serde``."""

    def __init__(self, part: str, serde: Serde) -> None:
        self.part = part
        self._serde = serde

    def value(self, fields: BatchFields, index: int) -> Any:
        """The decoded value, None for null; raises DecodeError."""
        data = self._data(fields, index)
        return None if data is None else self._serde.decode(data, self._place(fields, index))

    def text(self, fields: BatchFields, index: int) -> bytes | None:
        """Its text, as it is printed; the bytes themselves if they cannot be decoded."""
        data = self._data(fields, index)
        if data is None:
            return None
        try:
            return self._serde.decode_text(data, self._place(fields, index)).encode()
        except DecodeError:
            return data

    def _data(self, fields: BatchFields, index: int) -> bytes | None:
        return fields.key(index) if self.part == "key" else fields.value(index)

    def _place(self, fields: BatchFields, index: int) -> SerdeContext:
        return SerdeContext(fields.tp.topic, self.part, fields.headers(index), fields.key(index))
