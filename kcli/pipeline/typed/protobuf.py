"""The column of a Protobuf message. Pure.

Messages are structs, enums text, maps maps; wrappers are what they wrap; what can be anything (``Any``, ``Struct``) is
JSON text, as is a message inside itself.
"""

from typing import Any

import pyarrow as pa

from kcli.pipeline.typed import shape
from kcli.pipeline.typed.shape import Shape
from kcli.serde.avro.logical import logical_of

_NANOS = logical_of({"type": "long", "logicalType": "timestamp-nanos"})
assert _NANOS is not None
_WELL_KNOWN = {
    "Timestamp": shape.counted(pa.timestamp("ns", "UTC"), 64, _NANOS.read),
    "Duration": shape.STRING,
    "FieldMask": shape.STRING,
    "DoubleValue": shape.DOUBLE,
    "FloatValue": shape.FLOAT,
    "Int64Value": shape.INT64,
    "UInt64Value": shape.UINT64,
    "Int32Value": shape.INT32,
    "UInt32Value": shape.UINT32,
    "BoolValue": shape.BOOLEAN,
    "StringValue": shape.STRING,
    "BytesValue": shape.BASE64,
}
_GOOGLE = "google.protobuf."
_SCALARS = {
    1: shape.DOUBLE, 2: shape.FLOAT, 3: shape.INT64, 4: shape.UINT64, 5: shape.INT32, 6: shape.UINT64, 7: shape.UINT32,
    8: shape.BOOLEAN, 9: shape.STRING, 12: shape.BASE64, 13: shape.UINT32, 14: shape.STRING, 15: shape.INT32,
    16: shape.INT64, 17: shape.INT32, 18: shape.INT64,
}  # fmt: skip
"""By ``FieldDescriptorProto.Type``."""


def message_shape(
    message: Any,
    dropped: set[str],
    *,
    proto_names: bool,
    path: str = "",
    inside: frozenset[str] = frozenset(),
) -> Shape:
    """The column of a message. ``proto_names``: names as in the .proto file, else lowerCamelCase."""
    name = message.full_name
    if name.startswith(_GOOGLE):
        return _WELL_KNOWN.get(name.removeprefix(_GOOGLE), shape.JSON)
    if name in inside:
        return shape.JSON
    fields = []
    for field in message.fields:
        own = field.name if proto_names else field.json_name
        at = f"{path}.{own}" if path else own
        fields.append((own, _field_shape(field, dropped, proto_names, at, inside | {name})))
    return shape.record(fields, path, dropped)


def _field_shape(
    field: Any, dropped: set[str], proto_names: bool, path: str, inside: frozenset[str]
) -> Shape:
    def of(one: Any) -> Shape:
        if one.message_type is None:
            return _SCALARS[one.type]
        return message_shape(one.message_type, dropped, proto_names=proto_names, path=path, inside=inside)

    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        parts = field.message_type.fields_by_name
        key = of(parts["key"])
        return shape.mapping(shape.MAP_BOOLEAN if key is shape.BOOLEAN else key, of(parts["value"]))
    return shape.several(of(field)) if _is_repeated(field) else of(field)


def _is_repeated(field: Any) -> bool:
    """``label`` is deprecated where there is ``is_repeated``."""
    if hasattr(field, "is_repeated"):
        return bool(field.is_repeated)
    return bool(field.label == field.LABEL_REPEATED)
