"""Dataclasses whose methods are compiled on first use.

The standard decorator generates and compiles up to six methods of each class when its module is imported: a third of
the start-up time of a command, which then instantiates a quarter of the classes. This decorator only collects the
fields; each method is obtained from the standard one when it is first called, and a stub takes its place until then. A
test compares every class of kcli with the result of the standard decorator.
"""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(
    *, slots: Literal[True], frozen: bool = False, eq: bool = True, kw_only: bool = False
) -> Callable[[type[T]], type[T]]:
    """``dataclasses.dataclass`` for classes with slots. ``slots`` is for readers who know the standard one."""
    assert slots, "a class without slots is made by the standard decorator"

    def decorate(cls: type[T]) -> type[T]:
        # The standard decorator rejects a frozen class that inherits from a non-frozen one, and the reverse.
        inherits = any(map(dataclasses.is_dataclass, cls.__bases__))
        made = dataclasses.dataclass(  # noqa: TID251 - the only use
            init=False, repr=False, eq=False, frozen=frozen and inherits, kw_only=kw_only, slots=True
        )(cls)
        _tell_of(made, init=True, repr=True, eq=eq, frozen=frozen)
        for name in ("__init__", "__repr__", *(["__eq__"] if eq else [])):
            if name not in cls.__dict__:
                setattr(made, name, _stand_in(made, name))
        if frozen:
            for name, method in _FROZEN.items():
                setattr(made, name, method)
        if eq and cls.__dict__.get("__hash__") is None:
            made.__hash__ = _stand_in(made, "__hash__") if frozen else None  # type: ignore[assignment]
        return made

    return decorate


def _tell_of(cls: Any, **parameters: bool) -> None:
    """Sets what tools for dataclasses, and subclasses, look up."""
    for name, value in parameters.items():
        setattr(cls.__dataclass_params__, name, value)


def _stand_in(cls: type, name: str) -> Callable[..., Any]:
    def first(self: Any, *values: Any, **named: Any) -> Any:
        method = _compiled(cls, name)
        setattr(cls, name, method)
        return method(self, *values, **named)

    return first


def _compiled(cls: Any, name: str) -> Callable[..., Any]:
    """The method that the standard decorator makes from the fields, taken from a subclass that has nothing else."""
    about = {key: getattr(cls, key) for key in ("__module__", "__qualname__", "__doc__")}
    twin = type(cls.__name__, (cls,), about)
    full: Any = dataclasses.dataclass(  # noqa: TID251
        init=name == "__init__",
        repr=name == "__repr__",
        eq=name in ("__eq__", "__hash__"),
        frozen=cls.__dataclass_params__.frozen,
        match_args=False,
        slots=True,
    )(twin)
    method: Callable[..., Any] = full.__dict__[name]
    return method


def _refuse_to_assign(_self: object, name: str, _value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, row.name) for row in dataclasses.fields(self)]


def _restore(self: Any, state: Iterable[Any]) -> None:
    for row, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, row.name, value)


_FROZEN: dict[str, Callable[..., Any]] = {
    "__setattr__": _refuse_to_assign,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _state,
    "__setstate__": _restore,
}
"""Methods that do not depend on the class. Slots have no ``__dict__`` for ``pickle`` and ``copy`` to use."""
