"""Well-known imports that registries do not send: Google's come with libraries, Confluent's are defined here."""

import re
from importlib import import_module, util
from pathlib import Path
from typing import Any

_GOOGLE = re.compile(r"google/(protobuf|type|rpc|api)/[a-z0-9_]+\.proto")

CONFLUENT_FILES = {
    "confluent/meta.proto": """syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta {
  string doc = 1;
  map<string, string> params = 2;
  repeated string tags = 3;
}
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
""",
    "confluent/type/decimal.proto": """syntax = "proto3";
package confluent.type;
message Decimal {
  bytes value = 1;
  uint32 precision = 2;
  int32 scale = 3;
}
""",
    "confluent/types/decimal.proto": """syntax = "proto3";
import public "confluent/type/decimal.proto";
""",
}
"""The files that Confluent's registries have built in, as text for protoc. Options in them do not affect data."""


def is_well_known(name: str) -> bool:
    """Whether an import of this name is well-known and never sent."""
    return name in CONFLUENT_FILES or bool(_GOOGLE.fullmatch(name))


def well_known_file(name: str, descriptor_pb2: Any) -> Any | None:
    """The FileDescriptorProto of a well-known file; None for others, or where its library is missing."""
    if name in CONFLUENT_FILES:
        return _confluent(name, descriptor_pb2)
    if not _GOOGLE.fullmatch(name):
        return None
    try:
        module = import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    except ImportError:
        return None
    return descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)


def include_folders() -> list[Path]:
    """The folders of Google's files for protoc."""
    found = []
    tools = util.find_spec("grpc_tools")
    if tools and tools.origin:
        found.append(Path(tools.origin).parent / "_proto")
    try:
        types = util.find_spec("google.type.date_pb2")
    except ModuleNotFoundError:
        types = None
    if types and types.origin:
        found.append(Path(types.origin).parents[2])
    return found


def _confluent(name: str, descriptor_pb2: Any) -> Any:
    file = descriptor_pb2.FileDescriptorProto(name=name, syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    if name == "confluent/types/decimal.proto":
        file.dependency.append("confluent/type/decimal.proto")
        file.public_dependency.append(0)
    elif name == "confluent/type/decimal.proto":
        file.package = "confluent.type"
        decimal = file.message_type.add(name="Decimal")
        rows = (("value", kinds.TYPE_BYTES), ("precision", kinds.TYPE_UINT32), ("scale", kinds.TYPE_INT32))
        for number, (field, kind) in enumerate(rows, 1):
            decimal.field.add(name=field, number=number, label=kinds.LABEL_OPTIONAL, type=kind)
    else:
        file.package = "confluent"  # its options do not affect data: unknown options are ignored
    return file
