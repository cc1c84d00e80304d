"""Frozen, slotted dataclasses whose methods loop over their fields. Pure.

``dataclass`` generates source for the methods of each class and compiles it at import. For the classes of client
options, with up to 76 fields, that took 8 % of the CPU time of a short command. Which fields there are, ``replace``
and pickling are those of a dataclass.
"""

from dataclasses import Field, FrozenInstanceError, dataclass
from typing import TYPE_CHECKING, Any, ClassVar


class Declared:
    """What ``dataclass`` would generate. Every field has a default."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init__(self, **values: Any) -> None:
        fields = self.__dataclass_fields__
        for name in values:
            if name not in fields:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument {name!r}"
                )
        for name, field in fields.items():
            object.__setattr__(self, name, values.get(name, field.default))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__dataclass_fields__)
        return f"{type(self).__qualname__}({inside})"

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self) -> tuple[Any, ...]:
        return self._values()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(self.__dataclass_fields__, state, strict=True):
            object.__setattr__(self, name, value)

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)


if TYPE_CHECKING:
    declared = dataclass  # so that constructors are checked
else:

    def declared(*, frozen, **settings):
        """``dataclass`` for a subclass of Declared, which has these methods already."""
        assert frozen
        return dataclass(init=False, repr=False, eq=False, **settings)
