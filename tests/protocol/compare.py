"""Compares a field table of ours with a definition of Kafka's, version by version. Not a test.

Everything that could make bytes or meanings differ is compared; what differs comes back as sentences.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from kcli.core.protocol.api import Request
from kcli.core.protocol.schema import (
    BOOL,
    BYTES,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    RECORDS,
    STRING,
    UINT16,
    UINT32,
    UUID,
    Array,
    Field,
    Struct,
)
from tools.protocol.definitions import Definition, common_structs, python_name, versions_of, within

T = TypeVar("T")

_TYPES = {
    "bool": BOOL,
    "int8": INT8,
    "int16": INT16,
    "int32": INT32,
    "int64": INT64,
    "uint16": UINT16,
    "uint32": UINT32,
    "float64": FLOAT64,
    "uuid": UUID,
    "string": STRING,
    "bytes": BYTES,
    "records": RECORDS,
}
_ZERO = {"bool": False, "float64": 0.0, "uuid": bytes(16), "string": "", "bytes": b"", "records": None}


def differences(request: type[Request], definitions: dict[str, Definition], *, newest: bool) -> list[str]:
    """All differences of a request and its answer; with ``newest`` the version ranges must be equal."""
    name = request.__name__
    found = list(_header_differences(request, definitions[name], newest=newest))
    for cls in (request, request.response):
        definition = definitions[cls.__name__]
        for version in shared_versions(request, definition):
            flexible = within(version, definition.get("flexibleVersions", "none"))
            if flexible != (version >= request.flexible):
                found.append(f"{cls.__name__} v{version}: flexible is {flexible} in Kafka")
            found += struct_differences(cls, definition["fields"], definition, version, newest=newest)
    return list(dict.fromkeys(found))


def _header_differences(request: type[Request], definition: Definition, *, newest: bool) -> Iterator[str]:
    name = request.__name__
    if definition["apiKey"] != request.api_key:
        yield f"{name}: key {request.api_key}, in Kafka {definition['apiKey']}"
    theirs = versions_of(definition["validVersions"])
    if definition.get("latestVersionUnstable"):  # its form may change
        theirs = theirs[0], theirs[1] - 1
    if newest and theirs != request.versions:
        yield f"{name}: versions {request.versions}, in Kafka {theirs}"
    if not shared_versions(request, definition):
        yield f"{name}: no version in common, in Kafka {theirs}"


def shared_versions(request: type[Request], definition: Definition) -> range:
    first, last = versions_of(definition["validVersions"])
    return range(max(first, request.versions[0]), min(last, request.versions[1]) + 1)


def struct_differences(
    cls: type[Struct], theirs: list[Definition], root: Definition, version: int, *, newest: bool = True
) -> list[str]:
    """Differences of one struct in one version, its parts included.

    An older Kafka may spell a field differently, have other defaults and lack tagged fields: these were added
    to versions that existed already, and who does not know them steps over them.
    """
    where = f"{cls.__name__} v{version}"
    ours = _ours_in_wire_order([row for row in cls.fields if row.present(version)])
    kafkas = _kafkas_in_wire_order([f for f in theirs if within(version, f["versions"])], version)
    if newest and [(place, row.name) for place, row in ours.items()] != [
        (place, python_name(field["name"])) for place, field in kafkas.items()
    ]:
        return [f"{where}: fields {_spell(ours, '{0.name}')}, in Kafka {_spell(kafkas, '{0[name]}')}"]
    if not kafkas.keys() <= ours.keys() or any(place[0] == "plain" for place in ours.keys() - kafkas.keys()):
        return [f"{where}: fields {_spell(ours, '{0.name}')}, in Kafka {_spell(kafkas, '{0[name]}')}"]
    found: list[str] = []
    for place, field in kafkas.items():
        found += _field_differences(ours[place], field, root, version, where, newest=newest)
    return found


Place = tuple[str, int]
"""``("plain", index)`` or ``("tag", number)``."""


def _ours_in_wire_order(rows: list[Field]) -> dict[Place, Field]:
    plain = [row for row in rows if row.tag is None]
    tagged = sorted((row for row in rows if row.tag is not None), key=lambda row: row.tag or 0)
    return _places(plain, [(row.tag or 0, row) for row in tagged])


def _kafkas_in_wire_order(fields: list[Definition], version: int) -> dict[Place, Definition]:
    tagged = [f for f in fields if within(version, f.get("taggedVersions"))]
    plain = [f for f in fields if f not in tagged]
    return _places(plain, [(f["tag"], f) for f in sorted(tagged, key=lambda f: f["tag"])])


def _places(plain: list[T], tagged: list[tuple[int, T]]) -> dict[Place, T]:
    places: dict[Place, T] = {("plain", index): field for index, field in enumerate(plain)}
    return places | {("tag", number): field for number, field in tagged}


def _spell(places: Mapping[Place, Any], name: str) -> list[str]:
    return [name.format(f) + (f"#{number}" if kind == "tag" else "") for (kind, number), f in places.items()]


def _field_differences(
    row: Field, field: Definition, root: Definition, version: int, where: str, *, newest: bool
) -> Iterator[str]:
    place = f"{where}.{row.name}"
    if row.may_be_null(version) != within(version, field.get("nullableVersions")):
        yield f"{place}: nullable is {row.may_be_null(version)}, in Kafka the opposite"
    if field.get("flexibleVersions", "all") not in ("all", root.get("flexibleVersions", "none")):
        yield f"{place}: flexible versions of its own, which the table cannot say"
    element, their_type = row.type, field["type"]
    if isinstance(element, Array) != their_type.startswith("[]"):
        yield f"{place}: {_spelled(row.type)}, in Kafka {their_type}"
        return
    if isinstance(element, Array):
        element, their_type = element.element, their_type.removeprefix("[]")
    if isinstance(element, type):
        parts = field.get("fields") or common_structs(root).get(their_type)
        if parts is None:
            yield f"{place}: a struct, in Kafka {their_type}"
        else:
            yield from struct_differences(element, parts, root, version, newest=newest)
    elif _TYPES.get(their_type) != element:
        yield f"{place}: {_spelled(row.type)}, in Kafka {field['type']}"
        return
    if newest:
        yield from _default_differences(row, field, place)


def _default_differences(row: Field, field: Definition, place: str) -> Iterator[str]:
    ours, theirs = row.default_value(), _default(field)
    if isinstance(row.type, type) and theirs is not None:
        return  # a struct's default is that of its fields, which are compared on their own
    if ours != theirs or (ours is None) != (theirs is None):
        yield f"{place}: default {ours!r}, in Kafka {theirs!r}"


def _default(field: Definition) -> Any:
    said, type_ = field.get("default"), field["type"]
    if said is None:
        return [] if type_.startswith("[]") else _ZERO.get(type_, 0 if type_ in _TYPES else type_)
    if said == "null":
        return None
    if type_ == "bool":
        return said in (True, "true")
    if type_ == "string":
        return said
    return float(said) if type_ == "float64" else int(str(said), 0)


def _spelled(type_: Any) -> str:
    return f"[]{type_.element}" if isinstance(type_, Array) else str(type_)
