"""``dataclass``, ``NamedTuple``, ``Enum`` and ``IntEnum`` as the standard library has them, whose classes cost a tenth of
theirs to make.

Those of the standard library compile the methods of each class when its module is imported, needed or not, and set
them on the finished class, where each has to be looked up in all bases: half of what a short command computed was that.
Here the methods that loop over the fields are the same functions for all classes and are in the class from the
beginning. Those that have to be fast, ``__init__`` or ``__new__``, ``__eq__`` and ``__hash__``, are compiled for their
class once they were called a few times.

Type checkers see the originals. So does whoever uses ``dataclasses.fields``, ``asdict``, ``replace``, ``is_dataclass``
or inherits from such a class, and ``help``: the real fields and signatures are made when they are first read, by the
standard library. What kcli does not use is not here: ``init=False``, ``InitVar``, ``unsafe_hash``, ``weakref_slot`` and
``field(hash=, init=)``.
"""

from __future__ import annotations

from _collections import _tuplegetter  # type: ignore[import-not-found]
from operator import attrgetter
from types import GenericAlias

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from dataclasses import Field, dataclass, field, fields, replace
    from enum import Enum, IntEnum
    from typing import Any, NamedTuple
else:
    Any = object  # for whoever evaluates annotations, as those of a method that loops

__all__ = ["Enum", "Field", "IntEnum", "NamedTuple", "dataclass", "field", "fields", "replace"]

_FEW = 8
"""So many calls go through loops; then a class is worth compiling a method for."""

_NONE: Any = object()
"""Instead of a default: there is none."""
_set = object.__setattr__


class _Field:
    """What ``field`` was told, and ``name`` and ``type``."""

    __slots__ = ("compare", "default", "default_factory", "kw_only", "metadata", "name", "repr", "type")
    __class_getitem__: Any = classmethod(GenericAlias)
    name: str
    type: Any

    def __init__(
        self,
        *,
        default: Any = _NONE,
        default_factory: Any = _NONE,
        repr: bool = True,  # noqa: A002 - as in dataclasses
        compare: bool = True,
        metadata: Any = None,
        kw_only: bool | None = None,
    ) -> None:
        self.default, self.default_factory = default, default_factory
        self.repr, self.compare = repr, compare
        self.metadata, self.kw_only = metadata, kw_only

    def original(self) -> Any:
        """The same, of the standard library."""
        import dataclasses  # few runs need it

        told: dict[str, Any] = {"repr": self.repr, "compare": self.compare, "metadata": self.metadata}
        if self.default is not _NONE:
            told["default"] = self.default
        if self.default_factory is not _NONE:
            told["default_factory"] = self.default_factory
        return dataclasses.field(kw_only=bool(self.kw_only), **told)


# --- dataclasses -----------------------------------------------------------------------------------------


class _Plan:
    """What there is to know of a dataclass. ``fields`` are in order, those of its bases first."""

    __slots__ = (
        "_compared",
        "_count",
        "_count_compared",
        "_printed",
        "fields",
        "flags",
        "kind",
        "own",
        "positional",
    )

    def __init__(self, flags: dict[str, bool], own: dict[str, _Field], fields: dict[str, _Field]) -> None:
        self.flags, self.own, self.fields = flags, own, fields
        self.positional = tuple([name for name, told in fields.items() if not told.kw_only])
        self.kind: Any = None
        self._count = self._count_compared = 0
        self._compared: Any = None
        self._printed: Any = None

    def compared(self, item: Any) -> Any:
        """The values of an object that decide whether it equals another one."""
        self._count_compared += 1
        if self._compared is None:
            names = [name for name, told in self.fields.items() if told.compare]
            get = attrgetter(*names) if names else None
            # One name: a tuple as well, so that equality and the hash are the same as those of the compiled methods.
            self._compared = get if get and len(names) > 1 else lambda item: (get(item),) if get else ()
        elif self._count_compared == _FEW:
            self._compile_comparison()
        return self._compared(item)

    def printed(self) -> list[str]:
        """The names of the fields in a repr."""
        return [name for name, told in self.fields.items() if told.repr]

    def fill(self, item: Any, values: tuple[Any, ...], named: dict[str, Any]) -> None:
        """What ``__init__`` does."""
        self._count += 1
        if self._count > _FEW or len(values) > len(self.positional):
            self._compile()(item, *values, **named)
            return
        given = dict(zip(self.positional, values))  # noqa: B905 - it may be fewer values
        expected = len(given) + len(named)
        given.update(named)
        if len(given) != expected:
            self._compile()(item, *values, **named)  # raises: a field is there twice
        missing = 0
        for name, told in self.fields.items():
            if name in given:
                _set(item, name, given[name])
            elif told.default is not _NONE:
                _set(item, name, told.default)
                missing += 1
            elif told.default_factory is not _NONE:
                _set(item, name, told.default_factory())
                missing += 1
            else:
                self._compile()(item, *values, **named)  # raises: a field has no value
        if expected + missing != len(self.fields):
            self._compile()(item, *values, **named)  # raises: there is no such field
        if hasattr(self.kind, "__post_init__"):
            item.__post_init__()

    def _compile(self) -> Any:
        """The ``__init__`` of the class, from now on."""
        known: dict[str, Any] = {"_default": _NONE, "_set": _set}
        order = [*self.positional, *(name for name, told in self.fields.items() if told.kw_only)]
        arguments, lines = [], []
        for name in order:
            told = self.fields[name]
            value = name
            if told.kw_only and "*" not in arguments:
                arguments.append("*")
            if told.default is not _NONE:
                known[f"_default_{name}"] = told.default
                arguments.append(f"{name}=_default_{name}")
            elif told.default_factory is not _NONE:
                known[f"_make_{name}"] = told.default_factory
                arguments.append(f"{name}=_default")
                value = f"_make_{name}() if {name} is _default else {name}"
            else:
                arguments.append(name)
            lines.append(self._assignment(name, value, known))
        if hasattr(self.kind, "__post_init__"):
            lines.append("self.__post_init__()")
        head = f"def __init__({', '.join(['self', *arguments])}):"
        exec("\n ".join([head, *(lines or ["pass"])]), known)  # noqa: S102 - made of names of fields only
        made: Any = known["__init__"]
        made.__qualname__ = f"{self.kind.__qualname__}.__init__"
        made.__module__ = self.kind.__module__
        self.kind.__init__ = made
        return made

    def _compile_comparison(self) -> None:
        """``__eq__`` and ``__hash__`` of the class, from now on, where they are those of all classes."""
        names = [name for name, told in self.fields.items() if told.compare]
        mine, others = (f"({''.join([f'{item}.{name}, ' for name in names])})" for item in ("self", "other"))
        lines = [
            "def __eq__(self, other):",
            f" return {mine} == {others} if other.__class__ is self.__class__ else NotImplemented",
            "def __hash__(self):",
            f" return hash({mine})",
        ]
        known: dict[str, Any] = {}
        exec("\n".join(lines), known)  # noqa: S102 - made of names of fields only
        for name, general in (("__eq__", _eq), ("__hash__", _hash)):
            if vars(self.kind).get(name) is general:
                known[name].__qualname__ = f"{self.kind.__qualname__}.{name}"
                known[name].__module__ = self.kind.__module__
                setattr(self.kind, name, known[name])

    def _assignment(self, name: str, value: str, known: dict[str, Any]) -> str:
        if not self.flags["frozen"]:
            return f"self.{name} = {value}"
        if self.flags["slots"]:
            known[f"_set_{name}"] = getattr(self.kind, name).__set__
            return f"_set_{name}(self, {value})"
        return f"_set(self, {name!r}, {value})"


def _original_fields(plan: _Plan) -> dict[str, Any]:
    """``__dataclass_fields__`` as the standard library makes it."""
    import dataclasses  # few runs need it

    found: dict[str, Any] = {}
    for base in plan.kind.__mro__[-2:0:-1]:
        found.update(getattr(base, "__dataclass_fields__", {}))
    body = {name: told.original() for name, told in plan.own.items()}
    body |= {"__annotations__": {name: told.type for name, told in plan.own.items()}, "__doc__": ""}
    twin = type(plan.kind.__name__, (), {**body, "__module__": plan.kind.__module__})
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(twin)
    found.update(made.__dataclass_fields__)
    return found


def _original_flags(plan: _Plan) -> Any:
    """``__dataclass_params__`` as the standard library makes it."""
    import dataclasses  # few runs need it

    made: Any = dataclasses.dataclass(**plan.flags)(type(plan.kind.__name__, (), {"__doc__": ""}))
    return made.__dataclass_params__


class _Late:
    """``__dataclass_fields__`` or ``__dataclass_params__`` until it is read."""

    __slots__ = ("_make", "_name", "_plan")

    def __init__(self, plan: _Plan, name: str, make: Any) -> None:
        self._plan, self._name, self._make = plan, name, make

    def __get__(self, item: object, owner: Any = None) -> Any:
        found = self._make(self._plan)
        setattr(self._plan.kind, self._name, found)
        return found


def _original_signature(kind: Any) -> Any:
    """What its ``__init__`` or ``__new__`` takes, as the standard library says it."""
    import inspect  # few runs need it

    plan = kind.__dict__.get("__plan__")
    if plan is None:
        types, defaults = kind.__annotations__, kind._field_defaults
        return inspect.Signature(
            [
                inspect.Parameter(
                    name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=defaults.get(name, inspect.Parameter.empty),
                    annotation=types[name],
                )
                for name in kind._fields
            ]
        )
    import dataclasses  # few runs need it

    body = {name: told.original() for name, told in plan.fields.items()}
    body |= {"__annotations__": {name: told.type for name, told in plan.fields.items()}, "__doc__": ""}
    return inspect.signature(dataclasses.dataclass(type(plan.kind.__name__, (), body)))


class _Signature:
    """``__signature__`` of a class whose method loops, for ``help`` and ``inspect.signature``."""

    __slots__ = ()

    def __get__(self, item: object, owner: Any = None) -> Any:
        if item is not None:
            return None  # of an object that can be called: that of its __call__
        for kind in owner.__mro__:
            if "__signature__" in vars(kind):
                return _original_signature(kind)
            if "__init__" in vars(kind) or "__new__" in vars(kind):
                break
        return None


_SIGNATURE = _Signature()


def _repr(self: Any) -> str:
    plan: _Plan = self.__plan__
    inside = ", ".join([f"{name}={getattr(self, name)!r}" for name in plan.printed()])
    return f"{self.__class__.__qualname__}({inside})"


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    compared = self.__plan__.compared
    return compared(self) == compared(other)


def _hash(self: Any) -> int:
    return hash(self.__plan__.compared(self))


def _lt(self: Any, other: Any) -> Any:
    compared = self.__plan__.compared
    return compared(self) < compared(other) if other.__class__ is self.__class__ else NotImplemented


def _le(self: Any, other: Any) -> Any:
    compared = self.__plan__.compared
    return compared(self) <= compared(other) if other.__class__ is self.__class__ else NotImplemented


def _gt(self: Any, other: Any) -> Any:
    compared = self.__plan__.compared
    return compared(self) > compared(other) if other.__class__ is self.__class__ else NotImplemented


def _ge(self: Any, other: Any) -> Any:
    compared = self.__plan__.compared
    return compared(self) >= compared(other) if other.__class__ is self.__class__ else NotImplemented


def _is_open(item: Any, name: str) -> bool:
    """Whether it is an attribute of a class that inherits and is no dataclass: that may have some of its own."""
    return "__plan__" not in vars(type(item)) and name not in item.__plan__.fields


def _setattr(self: Any, name: str, value: object) -> None:
    if _is_open(self, name):
        _set(self, name, value)
        return
    from dataclasses import FrozenInstanceError  # few runs need it

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> None:
    if _is_open(self, name):
        object.__delattr__(self, name)
        return
    from dataclasses import FrozenInstanceError  # few runs need it

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__plan__.fields]


def _setstate(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__plan__.fields, state, strict=True):
        _set(self, name, value)


_FUNCTION = type(_repr)
_ORDER = {"__lt__": _lt, "__le__": _le, "__gt__": _gt, "__ge__": _ge}
_FROZEN = {"__setattr__": _setattr, "__delattr__": _delattr}
_FROZEN_SLOTS = {"__getstate__": _getstate, "__setstate__": _setstate}


def _annotations(space: Any) -> dict[str, Any]:
    """Those in the namespace of a class. Nothing of them is evaluated; only their names and ClassVar matter."""
    found = space.get("__annotations__")
    if found is not None:
        return dict(found)
    annotate = space.get("__annotate_func__") or space.get("__annotate__")
    if annotate is None:
        return {}
    import annotationlib  # type: ignore[import-not-found,unused-ignore] # from Python 3.14 on

    return annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF)  # type: ignore[no-any-return]


def _is_class_variable(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.startswith(("ClassVar", "typing.ClassVar"))
    if annotation.__class__ is type:
        return False
    return str(annotation).startswith("typing.ClassVar") if hasattr(annotation, "__origin__") else False


def _dataclass(
    kind: Any,
    *,
    repr: bool = True,  # noqa: A002 - as in dataclasses
    eq: bool = True,
    order: bool = False,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
) -> Any:
    space = dict(vars(kind))
    own: dict[str, _Field] = {}
    for name, annotation in _annotations(space).items():
        if _is_class_variable(annotation):
            continue
        told = space.pop(name, _NONE) if slots else space.get(name, _NONE)
        if told.__class__ is not _Field:
            if told.__class__.__hash__ is None:
                raise ValueError(
                    f"mutable default {type(told)} for field {name} is not allowed: use default_factory"
                )
            told = _Field(default=told)
        told.name, told.type = name, annotation
        if told.kw_only is None:
            told.kw_only = kw_only
        own[name] = told
    fields: dict[str, _Field] = {}
    for base in kind.__mro__[-2:0:-1]:
        above = base.__dict__.get("__plan__")
        if above is not None:
            fields.update(above.own)
    plan = _Plan(
        {"repr": repr, "eq": eq, "order": order, "frozen": frozen, "slots": slots, "kw_only": kw_only},
        own,
        fields | own,
    )

    def init(self: Any, /, *values: Any, **named: Any) -> None:
        plan.fill(self, values, named)

    added: dict[str, Any] = {"__plan__": plan, "__replace__": _replace}
    if "__init__" not in space:
        added["__init__"], added["__signature__"] = init, _SIGNATURE
    if repr and "__repr__" not in space:
        added["__repr__"] = _repr
    explicit_hash = space.get("__hash__", _NONE)
    if eq:
        if explicit_hash is _NONE or (explicit_hash is None and "__eq__" in space):
            added["__hash__"] = _hash if frozen else None
        if "__eq__" not in space:
            added["__eq__"] = _eq
    if order:
        added.update(_ORDER)
    if frozen:
        added.update(_FROZEN)
        if slots:
            added.update(_FROZEN_SLOTS)
    if "__match_args__" not in space:
        added["__match_args__"] = plan.positional
    added["__dataclass_fields__"] = _Late(plan, "__dataclass_fields__", _original_fields)
    added["__dataclass_params__"] = _Late(plan, "__dataclass_params__", _original_flags)
    if slots:
        space.update(added)
        space.pop("__dict__", None)
        space.pop("__weakref__", None)
        space["__slots__"] = tuple(name for name in own if name not in fields)
        space["__qualname__"] = kind.__qualname__
        first, kind = kind, type(kind)(kind.__name__, kind.__bases__, space)
        _move_super(first, kind)
    else:
        for name, told in own.items():  # a default is an attribute of the class
            if name in space and space[name].__class__ is _Field:
                if told.default is _NONE:
                    delattr(kind, name)
                else:
                    setattr(kind, name, told.default)
        for name, value in added.items():
            setattr(kind, name, value)
    plan.kind = kind
    return kind


def _move_super(first: Any, kind: Any) -> None:
    """Has ``super()`` and ``__class__`` in the methods of a class mean the one that was made in its place."""
    for member in vars(first).values():
        if member.__class__ is _FUNCTION and member.__closure__ is None:
            continue
        for part in (member.fget, member.fset, member.fdel) if member.__class__ is property else (member,):
            method: Any = part
            while hasattr(method, "__wrapped__"):  # also of class methods and static ones
                method = method.__wrapped__
            if method.__class__ is not _FUNCTION or "__class__" not in method.__code__.co_freevars:
                continue
            cell = (method.__closure__ or ())[method.__code__.co_freevars.index("__class__")]
            if cell.cell_contents is first:  # one for all methods of the class
                cell.cell_contents = kind
                return


def _replace(item: Any, /, **changes: Any) -> Any:
    plan = getattr(item, "__plan__", None)
    if plan is None:  # one of the standard library
        import dataclasses  # few runs need it

        return dataclasses.replace(item, **changes)
    for name in plan.fields:
        if name not in changes:
            changes[name] = getattr(item, name)
    return item.__class__(**changes)


def _fields(kind: Any) -> tuple[Any, ...]:
    plan = getattr(kind, "__plan__", None)
    if plan is None:  # one of the standard library
        import dataclasses  # few runs need it

        return dataclasses.fields(kind)
    return tuple(plan.fields.values())


# --- named tuples ----------------------------------------------------------------------------------------


def _new_method(fields: tuple[str, ...], defaults: dict[str, Any]) -> Any:
    """The ``__new__`` of a named tuple."""
    made = 0

    def new(cls: Any, /, *values: Any, **named: Any) -> Any:
        nonlocal made
        made += 1
        if made > _FEW:
            return compile_for(cls)(cls, *values, **named)
        if len(values) == len(fields) and not named:
            return tuple.__new__(cls, values)
        given = defaults | dict(zip(fields, values)) | named  # noqa: B905 - it may be fewer values
        if (
            len(values) > len(fields)
            or len(given) != len(fields)
            or any(name in named for name in fields[: len(values)])
        ):
            return compile_for(cls)(cls, *values, **named)  # raises
        return tuple.__new__(cls, [given[name] for name in fields])

    def compile_for(cls: Any) -> Any:
        arguments = ", ".join(fields)
        code = f"lambda _cls, {arguments}: _new(_cls, ({arguments}{',' if len(fields) == 1 else ''}))"
        method = eval(code, {"_new": tuple.__new__})  # noqa: S307 - made of names of fields only
        method.__defaults__ = tuple(defaults.values()) or None
        method.__name__ = "__new__"
        owner = next(kind for kind in cls.__mro__ if "_fields" in vars(kind))
        method.__qualname__ = f"{owner.__qualname__}.__new__"
        owner.__new__ = staticmethod(method)
        return method

    return new


def _tuple_make(cls: Any, values: Any) -> Any:
    made = tuple.__new__(cls, values)
    if len(made) != len(cls._fields):
        raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
    return made


def _tuple_replace(self: Any, /, **changes: Any) -> Any:
    made = self._make(map(changes.pop, self._fields, self))
    if changes:
        raise ValueError(f"Got unexpected field names: {list(changes)!r}")
    return made


def _tuple_asdict(self: Any) -> dict[str, Any]:
    return dict(zip(self._fields, self, strict=True))


def _tuple_repr(self: Any) -> str:
    inside = ", ".join([f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)])
    return f"{self.__class__.__name__}({inside})"


def _tuple_values(self: Any) -> tuple[Any, ...]:
    return tuple(self)


_TUPLE = {
    "__slots__": (),
    "_make": classmethod(_tuple_make),
    "_replace": _tuple_replace,
    "__replace__": _tuple_replace,
    "_asdict": _tuple_asdict,
    "__repr__": _tuple_repr,
    "__getnewargs__": _tuple_values,
}


class _Named(type):
    """Makes tuples of what is written as classes."""

    def __new__(mcs, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> Any:
        """A class whose metaclass is ``type``, as that of the standard library's."""
        if not bases:
            return super().__new__(mcs, name, bases, space)
        annotations = _annotations(space)
        fields = tuple(annotations)
        defaults = {field: space.pop(field) for field in fields if field in space}
        if tuple(defaults) != fields[len(fields) - len(defaults) :]:
            raise TypeError(f"fields of {name} without a default cannot follow those with one")
        getters = {field: _tuplegetter(at, f"Alias for field number {at}") for at, field in enumerate(fields)}
        new = {"__new__": _new_method(fields, defaults), "_fields": fields, "_field_defaults": defaults}
        if "__new__" not in space:
            new["__signature__"] = _SIGNATURE
        space = {
            **_TUPLE,
            **getters,
            **new,
            "__match_args__": fields,
            "__annotations__": annotations,
            **space,
        }
        return type(name, (tuple, *bases[1:]), space)


class _NamedTuple(metaclass=_Named):
    __slots__ = ()


# --- enumerations ----------------------------------------------------------------------------------------


_set_of_class = type.__setattr__
_FIXED = ("name", "value")


class _Members(type):
    """Makes a class whose objects are the numbers or texts that are written in it, each once."""

    __members__: dict[str, Any]
    _by_value: dict[Any, Any]

    def __new__(mcs, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> Any:
        """What is neither number nor text, as a method, stays as it is."""
        values = {
            key: value for key, value in space.items() if value.__class__ in (int, str) and key[0] != "_"
        }
        for key in values:
            del space[key]
        space["__members__"] = members = {}
        space["_by_value"] = by_value = {}
        made: Any = super().__new__(mcs, name, bases, space)
        for key, value in values.items():
            member: Any = int.__new__(made, value) if issubclass(made, int) else object.__new__(made)
            _set(member, "name", key)
            _set(member, "value", value)
            members[key] = by_value[value] = member
            _set_of_class(made, key, member)
        if len(by_value) != len(members):
            raise ValueError(f"two names of {name} have the same value")
        return made

    def __call__(cls, value: Any) -> Any:
        """The one of that value."""
        found = cls._by_value.get(value)
        if found is None:
            raise ValueError(f"{value!r} is not a valid {cls.__qualname__}")
        return found

    def __setattr__(cls, name: str, value: object) -> None:
        if name in cls.__members__:
            raise AttributeError(f"cannot reassign member {name!r}")
        _set_of_class(cls, name, value)

    def __delattr__(cls, name: str) -> None:
        if name in cls.__members__:
            raise AttributeError(f"cannot delete member {name!r}")
        super().__delattr__(name)

    def __getitem__(cls, name: str) -> Any:
        return cls.__members__[name]

    def __iter__(cls) -> Iterator[Any]:
        return iter(cls.__members__.values())

    def __len__(cls) -> int:
        return len(cls.__members__)


class _Enum(metaclass=_Members):
    """Hashed by identity: the standard library's hashes names, in Python code."""

    name: str
    value: Any

    def __setattr__(self, name: str, value: object) -> None:
        if name in _FIXED:
            raise AttributeError(f"{self} cannot set attribute {name!r}")
        _set(self, name, value)

    def __delattr__(self, name: str) -> None:
        if name in _FIXED:
            raise AttributeError(f"{self} cannot delete attribute {name!r}")
        object.__delattr__(self, name)

    def __str__(self) -> str:
        return f"{self.__class__.__name__}.{self.name}"

    def __repr__(self) -> str:
        return f"<{self}: {self.value!r}>"

    def __reduce__(self) -> Any:
        return self.__class__, (self.value,)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class _IntEnum(int, _Enum):
    __str__ = int.__repr__

    def __repr__(self) -> str:
        return f"<{_Enum.__str__(self)}: {self.value}>"


if not TYPE_CHECKING:

    def dataclass(kind: Any = None, /, **flags: bool) -> Any:
        """As ``dataclasses.dataclass``."""
        return (lambda kind: _dataclass(kind, **flags)) if kind is None else _dataclass(kind, **flags)

    Field = field = _Field
    fields = _fields
    replace = _replace
    NamedTuple = _NamedTuple
    Enum = _Enum
    IntEnum = _IntEnum
