"""Compiled Protobuf schemas: from the registry's base64, from text, or from a file; and their messages."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kcli.core.classes import dataclass
from kcli.core.extras import library
from kcli.serde.protobuf.protoc import compile_path, compile_texts
from kcli.serde.protobuf.well_known import is_well_known, well_known_file

MAIN = "kcli-main.proto"
"""The file name for a schema without one; it differs from all that it imports."""


@dataclass(frozen=True, slots=True)
class ProtoFile:
    """One file, linked with everything that it imports. ``file`` and ``pool`` are google.protobuf's."""

    file: Any
    pool: Any

    def message_at(self, path: Sequence[int]) -> Any:
        """The message of a path of indexes; ValueError for an invalid path."""
        found = None
        inside = list(self.file.message_types_by_name.values())
        for index in path:
            if index >= len(inside):
                raise ValueError(f"there is no message {'.'.join(map(str, path))} in the schema")
            found = inside[index]
            inside = list(found.nested_types)
        if found is None:
            raise ValueError("there is no message in the schema")
        return found

    def message_called(self, name: str) -> Any:
        """A message by its full name; ValueError lists the available messages."""
        try:
            return self.pool.FindMessageTypeByName(name)
        except KeyError:
            names = ", ".join(message.full_name for message in self.file.message_types_by_name.values())
            raise ValueError(f"there is no message {name}; there are {names or 'none'}") from None


def path_of(message: Any) -> tuple[int, ...]:
    """The path of indexes of a message in Confluent's framing."""
    if message.containing_type is None:
        siblings = list(message.file.message_types_by_name.values())
        return (_index(siblings, message),)
    return (*path_of(message.containing_type), _index(list(message.containing_type.nested_types), message))


def from_registry(text: str, references: Mapping[str, str]) -> ProtoFile:
    """A schema from the registry, compiled or as text; ``references`` by import name. Raises ValueError."""
    pb2 = _descriptor_pb2()
    compiled = {name: _compiled(inner, pb2) for name, inner in ((MAIN, text), *references.items())}
    ready = {name: file for name, file in compiled.items() if file is not None}
    if len(ready) == len(compiled):
        for name, file in ready.items():
            file.name = name
        return _link(MAIN, ready, pb2)
    if ready:
        raise ValueError("some of its files are compiled, others are text")
    return _of_set(compile_texts({**references, MAIN: text}, MAIN), MAIN, pb2)


def from_path(path: Path, imports: Sequence[Path]) -> ProtoFile:
    """A ``.proto`` file, or a FileDescriptorSet (protoc --descriptor_set_out --include_imports). Raises ValueError,
    OSError.
    """
    pb2 = _descriptor_pb2()
    if path.suffix == ".proto":
        path.read_bytes()  # for a plain OSError
        data = compile_path(path, imports)
    else:
        data = path.read_bytes()
    return _of_set(data, None, pb2)


def _descriptor_pb2() -> Any:
    return library("google.protobuf.descriptor_pb2", extra="protobuf", wanted_by="the serde protobuf")


def _compiled(text: str, pb2: Any) -> Any | None:
    """The FileDescriptorProto in base64; None for text."""
    try:
        return pb2.FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return None
    except Exception as error:
        raise ValueError(f"the registry's compiled schema cannot be read: {error}") from error


def _of_set(data: bytes, main: str | None, pb2: Any) -> ProtoFile:
    try:
        files = {file.name: file for file in pb2.FileDescriptorSet.FromString(data).file}
    except Exception as error:
        raise ValueError(f"it is no set of descriptors: {error}") from error
    if not files:
        raise ValueError("there is no file in the set of descriptors")
    return _link(main or next(reversed(files)), files, pb2)  # in a set imported files come first


def _link(main: str, files: Mapping[str, Any], pb2: Any) -> ProtoFile:
    """Links all files in a pool of their own, imported files first."""
    module = library("google.protobuf.descriptor_pool", extra="protobuf", wanted_by="the serde protobuf")
    pool = module.DescriptorPool()
    added: set[str] = set()
    waiting = [main, *(name for name in files if name != main)]
    waiting.reverse()
    opened: set[str] = set()
    while waiting:
        name = waiting[-1]
        file = files.get(name) or well_known_file(name, pb2)
        if file is None:
            why = "its library is not installed" if is_well_known(name) else "the registry did not send it"
            raise ValueError(f"the schema imports {name[:200]}, and {why}")
        missing = [needed for needed in file.dependency if needed not in added]
        if name not in added and missing and name not in opened:
            opened.add(name)
            waiting += missing
            continue
        waiting.pop()
        if name not in added:
            _add(pool, file)
            added.add(name)
    return ProtoFile(pool.FindFileByName(main), pool)


def _add(pool: Any, file: Any) -> None:
    try:
        pool.AddSerializedFile(file.SerializeToString())
    except Exception as error:
        raise ValueError(f"{file.name[:200]} cannot be linked: {error}") from error


def _index(siblings: list[Any], message: Any) -> int:
    return next(at for at, other in enumerate(siblings) if other.full_name == message.full_name)
