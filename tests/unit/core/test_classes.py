"""Classes made by ``kcli.core.classes`` are as the standard library would have made them: all of kcli's."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import importlib
import inspect
import json
import pickle
import pkgutil
import typing
from collections.abc import Callable
from typing import Any

import pytest

import kcli
from kcli.core import classes
from kcli.core.classes import Enum, IntEnum, NamedTuple, dataclass, field, replace

_MANY = 12
"""More objects than are made by loops."""


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """With all kinds of defaults."""

    x: int
    y: int = 0
    names: list[str] = field(default_factory=list, compare=False)
    note: str = field(default="", repr=False, kw_only=True)
    count: typing.ClassVar[int] = 0


@dataclass(frozen=True, slots=True, order=True)
class Solid(Point):
    """Inherits."""

    z: int = 0

    def __post_init__(self) -> None:
        if self.z < 0:
            raise ValueError(self.z)


@dataclass
class Plain:
    """Neither frozen nor slotted."""

    a: int
    b: int = 2
    c: list[int] = field(default_factory=list)


class Pair(NamedTuple):
    """A named tuple."""

    left: int
    right: str = "r"

    @property
    def both(self) -> str:
        """A method of its own."""
        return f"{self.left}{self.right}"


class Only(NamedTuple):
    """Of one field."""

    value: int


def _modules() -> list[Any]:
    found = []
    for module in pkgutil.walk_packages(kcli.__path__, "kcli.", onerror=lambda _name: None):
        if not module.name.endswith("__main__"):
            try:
                found.append(importlib.import_module(module.name))
            except ImportError:  # the library of an extra
                continue
    return found


def _every_class() -> list[type[Any]]:
    """Classes at the top of a module, once each."""
    here = [Point, Solid, Plain, Pair, Only]
    found = {
        value: None
        for module in _modules()
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    }
    return [*here, *found]


@pytest.fixture(scope="module")
def every_class() -> list[type[Any]]:
    return _every_class()


def _parameters(method: Callable[..., Any]) -> list[tuple[str, Any, bool]]:
    """Names, kinds, and whether there is a default; not ``self``."""
    found = list(inspect.signature(method).parameters.values())[1:]
    return [(one.name, one.kind, one.default is not inspect.Parameter.empty) for one in found]


def _compiled(kind: Any) -> Any:
    """The ``__init__`` that a class gets in the end."""
    return kind.__plan__._compile() if "plan" in kind.__init__.__code__.co_freevars else kind.__init__


def _filled(kind: type[Any], fields: tuple[Any, ...], offset: int = 0) -> Any:
    item = object.__new__(kind)
    for number, one in enumerate(fields):
        object.__setattr__(item, one.name, number + offset)
    return item


def _twin(kind: type[Any]) -> type[Any]:
    """What ``dataclasses`` makes of the same fields and flags."""
    flags = kind.__plan__.flags  # type: ignore[attr-defined]
    fields = dataclasses.fields(kind)
    post_init = {"__post_init__": lambda self: None} if hasattr(kind, "__post_init__") else {}
    told = {
        one.name: dataclasses.field(
            default=one.default,
            default_factory=one.default_factory,  # type: ignore[call-overload]
            repr=one.repr,
            compare=one.compare,
            kw_only=one.kw_only,
        )
        for one in fields
    }
    twin = dataclasses.make_dataclass(
        kind.__name__, [(name, Any, one) for name, one in told.items()], namespace=post_init, **flags
    )
    twin.__qualname__ = kind.__qualname__
    return twin


def _told(kind: type[Any], fields: tuple[Any, ...]) -> inspect.Signature:
    """What the standard library says of a dataclass with these fields."""
    body: dict[str, Any] = {}
    for one in fields:
        made = copy.copy(one)
        made.name = made.type = None
        body[one.name] = made
    body["__annotations__"] = {one.name: one.type for one in fields}
    twin = dataclasses.dataclass(type(kind.__name__, (), {**body, "__doc__": ""}))
    return inspect.signature(twin).replace(return_annotation=None)


def test_every_dataclass_of_kcli_is_as_the_standard_library_makes_it(every_class):
    compared = 0
    for kind in every_class:
        if "__plan__" not in vars(kind):
            continue
        compared += 1
        twin, fields = _twin(kind), dataclasses.fields(kind)
        assert [one.name for one in fields] == [one.name for one in dataclasses.fields(twin)], kind
        flags: Any = kind
        assert repr(flags.__dataclass_params__) == repr(twin.__dataclass_params__), kind  # type: ignore[attr-defined]
        if not inspect.isabstract(kind):
            if "__signature__" in vars(kind):
                assert inspect.signature(kind).replace(return_annotation=None) == _told(kind, fields), kind
            assert _parameters(_compiled(kind)) == _parameters(twin.__init__), kind
        own, other = _filled(kind, fields), _filled(twin, fields)
        assert kind.__match_args__ == twin.__match_args__, kind  # type: ignore[attr-defined]
        if kind.__repr__ is classes._repr:  # type: ignore[attr-defined]
            assert repr(own) == repr(other), kind
        if kind.__eq__ is classes._eq:  # type: ignore[attr-defined]
            assert own == _filled(kind, fields), kind
            assert (own == _filled(kind, fields, 1)) == (other == _filled(twin, fields, 1)), kind
            assert (own == other) is False
            assert (kind.__hash__ is None) == (twin.__hash__ is None), kind
            if kind.__hash__ is not None:
                assert hash(own) == hash(_filled(kind, fields))
        if kind.__plan__.flags.get("slots"):  # type: ignore[attr-defined]
            assert hasattr(own, "__dict__") == any(
                hasattr(base, "__dict__") and "__dict__" in vars(base) for base in kind.__mro__
            ), kind
    assert compared > 250


def test_every_named_tuple_of_kcli_is_as_the_standard_library_makes_it(every_class):
    compared = 0
    for kind in every_class:
        if not issubclass(kind, tuple) or "_fields" not in vars(kind):
            continue
        compared += 1
        fields, defaults = kind._fields, kind._field_defaults  # type: ignore[attr-defined]
        twin: Any = typing.NamedTuple(kind.__name__, [(name, Any) for name in fields])  # type: ignore[misc]
        values = tuple(range(len(fields)))
        for _ in range(_MANY):
            own = (
                kind._make(values)
                if "__new__" in vars(kind) and kind.__new__.__name__ == "own"
                else kind(*values)
            )
            assert tuple(own) == values, kind
            assert [getattr(own, name) for name in fields] == list(values), kind
            assert kind(**dict(zip(fields, values, strict=True))) == values, kind
            assert kind(*values[: len(fields) - len(defaults)])[len(fields) - len(defaults) :] == tuple(
                defaults.values()
            )
        assert [name for name, _, _ in _parameters(kind.__new__)] == list(fields), kind
        if "__signature__" in vars(kind):
            told = inspect.signature(kind).parameters
            assert list(told) == list(fields), kind
            assert {
                name: one.default for name, one in told.items() if one.default is not one.empty
            } == defaults, kind
        assert kind.__match_args__ == fields, kind  # type: ignore[attr-defined]
        if kind.__repr__ is classes._tuple_repr:  # type: ignore[attr-defined]
            assert repr(own) == repr(twin(*values)), kind
        assert (type(kind), kind.__bases__[0]) == (type(twin), tuple), kind
        assert not hasattr(own, "__dict__"), kind
    assert compared > 450


def _made(kind: Any, *values: Any, **named: Any) -> Any:
    """The same object, made by loops and by the compiled method."""
    found = [kind(*values, **named) for _ in range(_MANY)]
    assert all(one == found[0] for one in found)
    return found[-1]


def _members(kind: Any) -> Any:
    """What can be observed of an enumeration."""
    return [
        (
            *(one.name, one.value, str(one), repr(one), f"{one}", isinstance(one, kind), type(one.value)),
            *(kind(one.value) is one, kind[one.name] is one, getattr(kind, one.name) is one),
            *(copy.copy(one) is one, copy.deepcopy(one) is one, kind.__members__[one.name] is one, bool(one)),
            *(
                (hash(one), one == one.value, one + 1, f"{one:03}", json.dumps([one]))
                if isinstance(one, int)
                else ()
            ),
        )
        for one in kind
    ]


def test_every_enumeration_of_the_core_is_as_the_standard_library_makes_it():
    made = {
        kind
        for module in _modules()
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Enum) and len(kind)
    }
    assert sum(issubclass(kind, IntEnum) for kind in made) >= 9
    assert sum(not issubclass(kind, IntEnum) for kind in made) >= 9
    for kind in made:
        base = enum.IntEnum if issubclass(kind, IntEnum) else enum.Enum
        twin: Any = base(kind.__name__, {one.name: one.value for one in kind})  # type: ignore[call-overload]
        assert _members(kind) == _members(twin), kind
        assert all(pickle.loads(pickle.dumps(one)) is one for one in kind)
        assert (len(kind), {one.value for one in set(kind)}) == (len(twin), {one.value for one in set(twin)})
        for refused, error in ((lambda kind: kind(10_000), ValueError), (lambda kind: kind["?"], KeyError)):
            words = set()
            for either in (kind, twin):
                with pytest.raises(error) as caught:
                    refused(either)
                words.add(str(caught.value))
            assert len(words) == 1
        for one in (kind, twin):
            first = next(iter(one))
            for owner, name in ((one, first.name), (first, "name"), (first, "value")):
                with pytest.raises(AttributeError):
                    setattr(owner, name, 3)
                with pytest.raises(AttributeError):
                    delattr(owner, name)
            assert next(iter(one)) is first is getattr(one, first.name)


def test_two_names_for_a_value_are_refused():
    with pytest.raises(ValueError, match="two names of Same have the same value"):

        class Same(IntEnum):
            ONE = 1
            ALSO = 1


def test_defaults_and_keywords():
    point = _made(Point, 1, note="n")
    assert (point.x, point.y, point.names, point.note) == (1, 0, [], "n")
    assert Point(1).names is not Point(1).names
    assert _made(Solid, 1, y=2, z=3) == Solid(x=1, y=2, z=3)
    assert repr(Solid(1)) == "Solid(x=1, y=0, names=[], z=0)"
    assert [Plain(1), Plain(1, c=[2])] == [Plain(1, 2, []), Plain(1, 2, [2])]
    assert Plain.b == 2
    assert (Pair(1), Pair(left=2), Pair(2, right="x").both) == ((1, "r"), (2, "r"), "2x")


@pytest.mark.parametrize("made", [0, _MANY])
def test_calls_that_are_wrong_are_refused_in_the_words_of_python(made):
    class Fresh(NamedTuple):
        a: int
        b: int = 0

    @dataclass(frozen=True, slots=True)
    class New:
        a: int
        b: int = 0

    for kind in (Fresh, New):
        for wrong, words in (
            (lambda kind=kind: kind(), "missing 1 required positional argument: 'a'"),
            (lambda kind=kind: kind(1, 2, 3), "takes .* positional arguments"),
            (lambda kind=kind: kind(1, a=2), "multiple values for argument 'a'"),
            (lambda kind=kind: kind(1, c=2), "unexpected keyword argument 'c'"),
        ):
            for _ in range(made):
                kind(1)
            with pytest.raises(TypeError, match=words):
                wrong()


@pytest.mark.parametrize("made", [0, _MANY])
def test_post_init_is_called(made):
    for _ in range(made):
        Solid(1)
    with pytest.raises(ValueError, match="-1"):
        Solid(1, z=-1)


def test_frozen_objects_refuse_assignments():
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        Point(1).x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del Point(1).x
    assert not hasattr(Point(1), "__dict__")


def test_order_is_that_of_the_fields():
    assert sorted([Point(2), Point(1, 5), Point(1)]) == [Point(1), Point(1, 5), Point(2)]
    assert Point(1) <= Point(1) >= Point(1)
    assert Point(1) < Point(1, 1)
    with pytest.raises(TypeError):
        assert Point(1) < 1  # type: ignore[operator]


@pytest.mark.parametrize("item", [Point(1, 2, ["n"], note="x"), Solid(1), Plain(1), Pair(1), Only(1)])
def test_objects_are_copied_and_pickled(item):
    assert pickle.loads(pickle.dumps(item)) == item
    assert copy.deepcopy(item) == item
    assert copy.copy(item) == item


def test_the_tools_of_the_standard_library_work():
    assert dataclasses.is_dataclass(Point)
    assert dataclasses.asdict(Solid(1)) == {"x": 1, "y": 0, "names": [], "note": "", "z": 0}
    assert dataclasses.replace(Point(1), y=3) == Point(1, 3) == replace(Point(1), y=3)
    assert Pair(1)._replace(left=3)._asdict() == {"left": 3, "right": "r"}
    assert [one.name for one in dataclasses.fields(Solid)] == ["x", "y", "names", "note", "z"]
    with pytest.raises(TypeError):
        replace(Point(1), w=3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="unexpected field"):
        Pair(1)._replace(w=3)  # type: ignore[call-arg]


def test_dataclasses_of_others_may_inherit():
    @dataclasses.dataclass(frozen=True)
    class Theirs(Point):
        w: int = 4

    assert Theirs(1) == Theirs(1, 0, [], 4)
    assert [one.name for one in dataclasses.fields(Theirs)] == ["x", "y", "names", "note", "w"]


def test_classes_of_others_that_are_no_dataclasses_have_attributes_of_their_own():
    class Theirs(Point):
        def __init__(self, x: int) -> None:
            super().__init__(x, note="n")
            self.more = 5

    item = Theirs(1)
    assert (item.x, item.note, item.more) == (1, "n", 5)
    item.more = 6
    del item.more
    for change in (lambda: setattr(item, "x", 2), lambda: delattr(item, "x")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    assert str(inspect.signature(Theirs)) == "(x: 'int') -> 'None'"


def test_super_without_arguments_is_that_of_the_class_that_was_made():
    """One class for each kind of method that may be the only one to mention it."""

    class Below:
        def _told(self, *_given: object) -> str:
            return "below"

        said = property(_told, _told)
        taught = classmethod(_told)
        called = _told

    def wrapped(method: Any) -> Any:
        @functools.wraps(method)
        def outer(*given: Any) -> Any:
            return method(*given)

        return outer

    @dataclass(frozen=True, slots=True)
    class Plain(Below):
        x: int = 0

        def called(self) -> str:
            return super().called()

    @dataclass(slots=True)
    class Got(Below):
        x: int = 0

        @property
        def said(self) -> str:
            return super().said

    @dataclass(slots=True)
    class Taught(Below):
        x: int = 0

        @classmethod
        def taught(cls) -> str:
            return super().taught()

    @dataclass(slots=True)
    class Wrapped(Below):
        x: int = 0

        @wrapped
        def called(self) -> str:
            return super().called()

    @dataclass(slots=True)
    class Named(Below):
        x: int = 0

        @staticmethod
        def taught() -> str:
            return __class__().called()  # type: ignore[name-defined]

    class Tuple(NamedTuple):
        x: int = 0

        def called(self) -> str:
            return "below" if super().__len__() == 1 else ""

    found = [
        Plain().called(), Got().said, Taught.taught(), Taught().taught(), Wrapped().called(), Named.taught(),
        Tuple().called(), type("Child", (Plain,), {"__slots__": ()})().called(),
    ]  # fmt: skip
    assert set(found) == {"below"}


def test_objects_are_copied_with_changes():
    change: Any = getattr(copy, "replace", lambda item, **changes: item.__replace__(**changes))
    assert change(Point(1, note="n"), y=3) == Point(1, 3, note="n")
    assert change(Pair(1), right="x") == Pair(1, "x")


@pytest.mark.parametrize("made", [0, _MANY])
def test_help_shows_what_a_class_takes(made):
    class Fresh(NamedTuple):
        a: int
        b: str = "x"

    @dataclass(frozen=True, slots=True)
    class New:
        a: int
        b: list[int] = field(default_factory=list)
        c: int = field(default=1, kw_only=True)

        def __call__(self, other: int) -> int:
            return other

    class Below(New):
        pass

    for _ in range(made):
        Fresh(1), New(1)
    assert str(inspect.signature(Fresh)) == "(a: 'int', b: 'str' = 'x')"
    for kind in (New, Below):
        assert (
            str(inspect.signature(kind)) == "(a: 'int', b: 'list[int]' = <factory>, *, c: 'int' = 1) -> None"
        )
    assert str(inspect.signature(New(1))) == "(other: 'int') -> 'int'"
    for kind in (Fresh, New):
        assert set(typing.get_type_hints(kind)) >= {"a", "b"}
        assert typing.get_type_hints(kind.__init__) is not None


def test_equality_and_hash_are_the_same_before_and_after_they_are_compiled():
    @dataclass(frozen=True, slots=True)
    class One:
        value: float

    @dataclass(frozen=True)
    class Two:
        value: float
        name: str = "n"
        note: list[int] = field(default_factory=list, compare=False)

    @dataclass(frozen=True)
    class Bare:
        pass

    @dataclass(frozen=True)
    class Own:
        value: float

        def __hash__(self) -> int:
            return 7

    nan = float("nan")
    for kind, values in ((One, (nan,)), (Two, (nan, "m")), (Bare, ()), (Own, (nan,))):
        item, same = kind(*values), kind(*values)
        first = hash(item)
        expected = 7 if kind is Own else hash(values)
        for _ in range(_MANY):
            assert item == same
            assert item != (kind(1.0) if values else values)
            assert hash(item) == hash(same) == first == expected
        assert kind.__eq__ is not classes._eq
        assert (item == values) is False


def test_patterns_match():
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
    match Pair(1):
        case Pair(left, right):
            assert (left, right) == (1, "r")


def test_mutable_defaults_are_refused():
    with pytest.raises(ValueError, match="use default_factory"):

        @dataclass
        class Wrong:
            names: list[str] = []  # noqa: RUF012 - this is the mistake
