"""The source text of a module of field tables, from Kafka's definitions and the notes beside them."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from tools.protocol import notes
from tools.protocol.definitions import Definition, fields_of, python_name, versions_of

_CONSTANTS = {
    "bool": "BOOL",
    "bytes": "BYTES",
    "float64": "FLOAT64",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "records": "RECORDS",
    "string": "STRING",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uuid": "UUID",
}
_PYTHON = {
    "bool": "bool",
    "bytes": "bytes",
    "float64": "float",
    "records": "Iterable[Buffer] | memoryview",
    "string": "str",
    "uuid": "bytes",
}
"""The others are ``int``."""
_ZERO = {
    "bool": "False",
    "bytes": 'b""',
    "float64": "0.0",
    "records": "None",
    "string": '""',
    "uuid": "NO_UUID",
}
_EVERY_VERSION = "0+"
_RESERVED = {"fields", "attach", "release"}
"""Names that structs have for themselves."""


class Part(NamedTuple):
    """One class of a module."""

    name: str
    text: str


class Tables:
    """The classes of one module, each struct before the first that has it as a field."""

    def __init__(self, roots: Iterable[Definition]) -> None:
        self._names = _class_names(list(roots))
        self._parts: dict[str, str] = {}

    @property
    def text(self) -> str:
        return "\n\n".join(self._parts.values())

    def add(self, root: Definition, base: str, first_lines: Iterable[str] = ()) -> None:
        """A message and the structs in it."""
        name = root["name"]
        self._add(Part(name, self._class(f"{name}({base})", root["fields"], root, first_lines)))

    def _add(self, part: Part) -> None:
        if self._parts.setdefault(part.name, part.text) != part.text:
            raise ValueError(f"two structs would be called {part.name}: say another name in notes.CLASSES")

    def _class(
        self, head: str, fields: list[Definition], root: Definition, first_lines: Iterable[str] = ()
    ) -> str:
        name = re.split(r"\W", head)[0]
        rows = [self._row(field, root, name) for field in fields if _is_used(field, root)]
        said = notes.METHODS.get(name)
        body = [*first_lines, *rows, *(["", *said.strip("\n").splitlines()] if said else [])]
        return "\n".join(
            [f"class {head}:", *(f"    {line}" if line else "" for line in body or ["pass"]), ""]
        )

    def _row(self, field: Definition, root: Definition, owner: str) -> str:
        name = python_name(field["name"])
        if name in _RESERVED:
            raise ValueError(f"{owner}.{name}: a struct has that name for itself")
        where = f"{owner}.{name}"
        type_, annotation = self._type(field, root, where)
        arguments = [type_]
        if field["versions"] != _EVERY_VERSION:
            arguments.append(f'"{field["versions"]}"')
        arguments += _default(field, type_, root)
        nullable = field.get("nullableVersions", "none")
        if nullable != "none":
            annotation += " | None"
            arguments.append(f'nullable="{nullable}"')
        tagged = field.get("taggedVersions", "none")
        if tagged != "none":
            if versions_of(tagged) != versions_of(field["versions"]):
                raise ValueError(
                    f"{where}: tagged in other versions than it is there, which no table can say"
                )
            arguments.append(f"tag={field['tag']}")
        if where in notes.SECRETS:
            arguments.append("secret=True")
        return f"{name}: {annotation} = field({', '.join(arguments)})"

    def _type(self, field: Definition, root: Definition, where: str) -> tuple[str, str]:
        """The type of the field as the table says it, and as a type checker reads it."""
        their_type = field["type"].removeprefix("[]")
        parts = fields_of(field, root)
        if parts is None:
            type_ = _CONSTANTS[their_type]
            annotation = _PYTHON.get(their_type, "int")
            if field.get("zeroCopy") or where in notes.VIEWS:
                annotation = "bytes | memoryview"
        else:
            type_ = annotation = self._names[root["name"], their_type]
            if f"{root['name']}.{their_type}" in notes.WHOLE:
                parts = [{**part, "versions": _EVERY_VERSION} for part in parts]
            self._add(Part(type_, self._class(f"{type_}(Struct)", parts, root)))
        if field["type"].startswith("[]"):
            long = where in notes.LONG_ARRAYS
            several = "Sequence" if long or where in notes.SEQUENCES else "list"
            return f"{'LongArray' if long else 'Array'}({type_})", f"{several}[{annotation}]"
        return type_, annotation


def _class_names(roots: list[Definition]) -> dict[tuple[str, str], str]:
    """(Message, struct) → the name of its class: Kafka's, unless the notes say another one. Where messages have different
    structs of one name, that of a request is Requested…, that of a record has the record's name in front.
    """
    shapes: dict[str, dict[str, Any]] = {root["name"]: {} for root in roots}
    for root in roots:
        _gather(root["fields"], root, shapes[root["name"]])
    names = {}
    for message, structs in shapes.items():
        for struct, shape in structs.items():
            clash = any(other.get(struct, shape) != shape for other in shapes.values())
            name = f"{_prefix(message)}{struct}" if clash else struct
            names[message, struct] = notes.CLASSES.get(f"{message}.{struct}", name)
    return names


def _prefix(message: str) -> str:
    if message.endswith("Request"):
        return "Requested"
    return "" if message.endswith("Response") else re.sub("(Key|Value|Record)$", "", message)


def _is_used(field: Definition, root: Definition) -> bool:
    """Whether a version that is still valid has the field."""
    (first, last), valid = versions_of(field["versions"]), versions_of(root["validVersions"])
    return max(first, valid[0]) <= min(last, valid[1])


def _gather(fields: list[Definition], root: Definition, into: dict[str, Any]) -> Any:
    """The structs by name, as something that is equal where their tables are."""
    shape = []
    for field in fields:
        parts = fields_of(field, root)
        inner = None if parts is None else _gather(parts, root, into)
        if inner is not None:
            into[field["type"].removeprefix("[]")] = inner
        said = ("name", "type", "versions", "nullableVersions", "default", "taggedVersions", "tag")
        shape.append((*(field.get(key) for key in said), inner))
    return shape


def _default(field: Definition, type_: str, root: Definition) -> list[str]:
    """What the definition says, or the zero value where some version does not have the field; none for a struct that
    cannot be made without arguments.
    """
    said, their_type = field.get("default"), field["type"]
    if said == "null":
        return ["default=None"]
    if said is not None:
        return [f"default={_literal(said, their_type)}"]
    if field["versions"] == _EVERY_VERSION and field.get("taggedVersions", "none") == "none":
        return []
    if their_type.startswith("[]"):
        return ["default_factory=list"]
    if their_type not in _CONSTANTS:
        parts = fields_of(field, root) or []
        return [f"default_factory={type_}"] if all(_default(part, "", root) for part in parts) else []
    return [f"default={_ZERO.get(their_type, '0')}"]


def _literal(said: Any, type_: str) -> str:
    if type_ == "bool":
        return str(said in (True, "true"))
    if type_ == "string":
        return repr(said)  # in the quotes that the formatter prefers
    return repr(float(said) if type_ == "float64" else int(str(said), 0))


def imports(text: str) -> str:
    """The imports that the classes in ``text`` need."""

    def used(*names: str) -> list[str]:
        return [name for name in names if re.search(rf"\b{name}\b", text)]

    wanted = [
        ("collections.abc", used("Iterable", "Sequence")),
        ("typing", used("ClassVar")),
        ("", []),
        ("kcli.core.protocol.api", used("Request", "Response")),
        ("kcli.core.protocol.codec", used("Buffer")),
        ("kcli.core.protocol.row_shapes", used("LongArray")),
        ("kcli.core.protocol.schema", used(*_SCHEMA)),
    ]
    lines = [
        f"from {module} import {', '.join(names)}" if names else ""
        for module, names in wanted
        if names or not module
    ]
    return "\n".join(lines).strip("\n")


_SCHEMA = (
    "BOOL", "BYTES", "FLOAT64", "INT8", "INT16", "INT32", "INT64", "NO_UUID", "RECORDS", "STRING", "UINT16", "UINT32",
    "UUID", "Array", "Struct", "field",
)  # fmt: skip
"""As linters sort them."""
