"""One function per type of an Avro schema, created once: the common part of reading and writing."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, cast

from kcli.serde.avro.schema import PRIMITIVES, AvroSchema, Node, unwrapped

F = TypeVar("F", bound=Callable[[Any, Any], Any])


class PerType(ABC, Generic[F]):
    """Dispatches by type; a subclass creates the functions. A recursive type is looked up when called."""

    def __init__(self, schema: AvroSchema, primitives: Mapping[str, F], *, tagged: bool) -> None:
        self._named = schema.named
        self._primitives = primitives
        self._tagged = tagged
        self._made: dict[str, F] = {}
        self._unfinished: set[str] = set()
        self._recursive = False
        self._root = self._of(schema.root)

    def _of(self, node: Node) -> F:
        node = unwrapped(node)
        if isinstance(node, list):
            return self._union(node)
        if isinstance(node, str):
            return self._primitives[node] if node in PRIMITIVES else self._named_type(node)
        kind = node["type"]
        if kind in ("record", "error"):
            return self._keep(node, self._record(node))
        if kind == "array":
            return self._array(node["items"])
        if kind == "map":
            return self._map(node["values"])
        if kind == "enum":
            return self._keep(node, self._enum(node["symbols"]))
        if kind == "fixed":
            return self._keep(node, self._fixed(node))
        if kind in PRIMITIVES:
            return self._logical(node)
        return self._named_type(kind)

    def _named_type(self, name: str) -> F:
        if name in self._unfinished:
            self._recursive = True
            made = self._made
            return cast("F", lambda one, two: made[name](one, two))  # noqa: PLW0108 - it is not there yet
        found = self._made.get(name)
        return found if found is not None else self._of(self._named[name])

    def _keep(self, node: Node, made: F) -> F:
        self._made[node["name"]] = made
        return made

    def _fields(self, record: Node) -> list[tuple[str, F]]:
        self._unfinished.add(record["name"])
        fields = [(row["name"], self._of(row["type"])) for row in record["fields"]]
        self._unfinished.discard(record["name"])
        return fields

    @abstractmethod
    def _record(self, node: Node) -> F: ...

    @abstractmethod
    def _union(self, branches: list[Node]) -> F: ...

    @abstractmethod
    def _array(self, items: Node) -> F: ...

    @abstractmethod
    def _map(self, values: Node) -> F: ...

    @abstractmethod
    def _enum(self, symbols: list[str]) -> F: ...

    @abstractmethod
    def _fixed(self, node: Node) -> F: ...

    @abstractmethod
    def _logical(self, node: Node) -> F:
        """What is made for a primitive type that may have a logical type."""
