"""Dataclasses whose methods are not compiled before somebody needs them.

The standard decorator writes and compiles up to six methods of each class when its module is imported: a third of the
start of a command, which then makes instances of a few of the classes. Here it only collects the fields, so that
``fields``, ``replace``, ``asdict`` and ``match`` know the class. ``__init__`` is compiled with the first instance, the
other methods are made of ``attrgetter``. A test compares all of them with the standard ones.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(
    *, slots: bool, frozen: bool = False, eq: bool = True, kw_only: bool = False
) -> Callable[[type[T]], type[T]]:
    """``dataclasses.dataclass`` for classes with slots, without ``__post_init__``, whose ``__init__`` takes all fields.

    ``slots`` is said so that a reader who knows the standard one is not misled; it is True.
    """
    assert slots, "a class without slots is made by the standard decorator"

    def decorate(cls: type[T]) -> type[T]:
        made = dataclasses.dataclass(  # noqa: TID251 - the one place
            init=False, repr=False, eq=False, kw_only=kw_only, slots=True
        )(cls)
        for name, method in _methods(made, frozen, eq):
            if name not in cls.__dict__:
                setattr(made, name, method)
        return made

    return decorate


def _methods(cls: type, frozen: bool, eq: bool) -> Iterator[tuple[str, Any]]:
    rows = dataclasses.fields(cls)
    yield "__init__", _init_that_compiles(cls, frozen)
    yield "__repr__", _repr_of([row.name for row in rows if row.repr])
    if eq:
        compared = _values_of([row.name for row in rows if row.compare])
        yield "__eq__", _eq_of(compared)
        yield "__hash__", _hash_of(compared) if frozen else None
    if frozen:
        names = [row.name for row in rows]
        yield "__setattr__", _refuse_to_assign
        yield "__delattr__", _refuse_to_delete
        yield "__getstate__", lambda one: [getattr(one, name) for name in names]
        yield "__setstate__", _fill_of(names)


def _init_that_compiles(cls: type, frozen: bool) -> Callable[..., None]:
    def first(self: Any, *values: Any, **named: Any) -> None:
        init = _compiled_init(cls, frozen)
        cls.__init__ = init  # type: ignore[misc]
        init(self, *values, **named)

    return first


def _compiled_init(cls: type, frozen: bool) -> Callable[..., None]:
    """As the standard decorator writes it; a frozen instance is filled through the descriptors of its slots."""
    scope: dict[str, Any] = {"_missing": object()}
    positional, named, body = ["self"], ["*"], []
    for row in dataclasses.fields(cls):
        parameter = value = name = row.name
        if row.default is not dataclasses.MISSING:
            scope[f"_default_{name}"] = row.default
            parameter = f"{name}=_default_{name}"
        elif row.default_factory is not dataclasses.MISSING:
            scope[f"_make_{name}"] = row.default_factory
            parameter = f"{name}=_missing"
            value = f"_make_{name}() if {name} is _missing else {name}"
        (named if row.kw_only else positional).append(parameter)
        if frozen:
            scope[f"_put_{name}"] = getattr(cls, name).__set__
            body.append(f"_put_{name}(self, {value})")
        else:
            body.append(f"self.{name} = {value}")
    parameters = positional + (named if len(named) > 1 else [])
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body or ["pass"]), scope)  # noqa: S102 - names and defaults of fields
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _values_of(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _fill_of(names: Sequence[str]) -> Callable[[Any, Sequence[Any]], None]:
    def fill(self: Any, values: Sequence[Any]) -> None:
        for name, value in zip(names, values, strict=True):
            object.__setattr__(self, name, value)

    return fill


def _repr_of(names: Sequence[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def shown(self: Any) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({inside})"

    return shown


def _eq_of(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, object], bool]:
    def equal(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hash_of(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    return lambda one: hash(values(one))


def _refuse_to_assign(_self: object, name: str, _value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
