"""The serde of the metadata log: ``cluster_metadata``. Read only.

A value begins with three varints (KIP-631): version of the frame, type of the record, its version. The output is that
of Kafka's own tool, with the name as in other internal topics; for an unknown type or version, which is from a newer
controller, the bytes are kept in base64.
"""

from typing import Any

from kcli.core.errors import ProtocolError
from kcli.core.protocol.stored.metadata_records import KINDS
from kcli.core.protocol.stored.reading import metadata_head
from kcli.serde.errors import DecodeError, EncodeError
from kcli.serde.internal.serde import fields_of, raw_fields, read_struct
from kcli.serde.serde import JsonValue, Serde, SerdeContext

_FRAME = 1


class MetadataSerde(Serde):
    """Values of ``__cluster_metadata``. Its records have no keys."""

    can_encode = False
    name = "cluster_metadata"

    def decode(self, data: bytes, context: SerdeContext) -> JsonValue:
        if context.part == "key":
            raise DecodeError("the key cannot be read", why="records of the metadata log have none")
        try:
            frame, number, version, pos = metadata_head(data)
        except ProtocolError as error:
            raise DecodeError(error.what, why=error.why) from None
        if frame != _FRAME:
            raise DecodeError(
                "the value is no metadata record", why=f"its frame has version {frame}, not {_FRAME}"
            )
        cls: Any = KINDS.get(number)
        if cls is None:
            return {"type": number, "version": version, **raw_fields(data[pos:])}
        head = {"type": number, "version": version, "name": cls.__name__.removesuffix("Record")}
        if not cls.versions[0] <= version <= cls.versions[1]:
            return {**head, **raw_fields(data[pos:])}
        found = read_struct(cls, data, pos, version, cls.flexible, context)
        return {**head, "data": fields_of(found, version)}

    def encode(self, value: JsonValue, context: SerdeContext) -> bytes:  # noqa: ARG002 - it refuses all
        raise EncodeError(f"the {context.part} cannot be written", why=f"{self.name} is only read")
