"""Field tables of messages: a class whose fields declare their wire type and the versions that have them.

``compiler.py`` generates encoders and decoders from them. A test compares every table with the message definitions
that Kafka publishes.
"""

import functools
from collections.abc import Callable
from typing import Any, ClassVar, dataclass_transform

# Wire types. The fixed-size ones are named by their struct format.
BOOL, INT8, INT16, INT32, INT64, FLOAT64 = "?", "b", "h", "i", "q", "d"
UINT16, UINT32 = "H", "I"
UUID = "16s"
STRING, BYTES, RECORDS = "string", "bytes", "records"
FIXED = frozenset({BOOL, INT8, INT16, INT32, INT64, FLOAT64, UINT16, UINT32, UUID})

NO_UUID = bytes(16)
_MISSING: Any = object()
_LAST = 0x7FFF


class Array:
    """``[]element`` of Kafka's definitions."""

    __slots__ = ("element",)
    columns = False
    """Whether it is read into a Table if its elements are as usual (LongArray)."""

    def __init__(self, element: Any) -> None:
        self.element = element


class Field:
    """One row of a field table."""

    __slots__ = ("default", "name", "nullable", "secret", "tag", "type", "versions")

    def __init__(
        self, type_: Any, versions: str, default: Any, nullable: str, tag: int | None, secret: bool
    ) -> None:
        self.name = ""
        self.type = type_
        self.versions = parse_versions(versions)
        self.default = default
        self.nullable = parse_versions(nullable) if nullable else None
        self.tag = tag
        self.secret = secret

    def present(self, version: int) -> bool:
        """Whether ``version`` of the message has this field."""
        return self.versions[0] <= version <= self.versions[1]

    def may_be_null(self, version: int) -> bool:
        """Whether it is nullable in ``version``."""
        return self.nullable is not None and self.nullable[0] <= version <= self.nullable[1]

    @property
    def shares_default(self) -> bool:
        """Whether all values may have the same default: it cannot be changed."""
        return self.default is not _MISSING or isinstance(self.type, str)

    @property
    def make(self) -> Callable[[], Any]:
        """Makes the default of a field whose values cannot share it."""
        return list if isinstance(self.type, Array) else self.type

    def default_value(self) -> Any:
        """The default of the definition, or the zero value of the type; a new object each time."""
        if self.default is not _MISSING:
            return self.default
        return _ZERO[self.type] if self.shares_default else self.make()


_ZERO: dict[str, Any] = {
    **dict.fromkeys((INT8, INT16, INT32, INT64, UINT16, UINT32), 0),
    BOOL: False,
    FLOAT64: 0.0,
    UUID: NO_UUID,
    STRING: "",
    BYTES: b"",
    RECORDS: None,
}


@functools.cache
def parse_versions(text: str) -> tuple[int, int]:
    """``"3+"``, ``"1-4"`` or ``"2"`` as (first, last)."""
    first, plus, _ = text.partition("+")
    if plus:
        return int(first), _LAST
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def field(
    type_: Any,
    versions: str = "0+",
    *,
    default: Any = _MISSING,
    default_factory: Callable[[], Any] | None = None,
    nullable: str = "",
    tag: int | None = None,
    secret: bool = False,
) -> Any:
    """Declares a field. ``tag`` makes it a tagged field of the flexible versions (KIP-482), ``secret`` hides its value
    wherever the message is shown.

    ``default_factory`` lets the constructor omit the field: the type's own empty value is used.
    """
    del default_factory
    return Field(type_, versions, default, nullable, tag, secret)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class Struct:
    """The base of all messages and their parts. Fields that are omitted get their default."""

    fields: ClassVar[tuple[Field, ...]] = ()
    _defaults: ClassVar[tuple[dict[str, Any], list[tuple[str, Callable[[], Any]]]] | None] = None
    """Those that all values share, and what makes the others; None until one is made: many are only received."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        rows = []
        for name, row in list(cls.__dict__.items()):
            if row.__class__ is Field:
                row.name = name
                rows.append(row)
                delattr(cls, name)
        cls.fields = (*cls.fields, *rows)
        cls._defaults = None

    @classmethod
    def _make_defaults(cls) -> tuple[dict[str, Any], list[tuple[str, Callable[[], Any]]]]:
        shared = {row.name: row.default_value() for row in cls.fields if row.shares_default}
        own = [(row.name, row.make) for row in cls.fields if not row.shares_default]
        cls._defaults = shared, own
        return shared, own

    def __init__(self, **values: Any) -> None:
        shared, own_defaults = self._defaults or self._make_defaults()
        own = self.__dict__
        own |= shared
        for name, make in own_defaults:
            own[name] = None if name in values else make()
        for name in values:
            if name not in own:
                raise TypeError(f"{type(self).__name__} has no field {name}")
        own |= values

    def __repr__(self) -> str:
        inside = ", ".join(
            f"{row.name}={'(hidden)' if row.secret else repr(getattr(self, row.name))}" for row in self.fields
        )
        return f"{type(self).__name__}({inside})"
