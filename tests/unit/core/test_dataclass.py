"""Ours beside the standard decorator: the same class, made by both, does the same."""

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

import kcli
from kcli.core.dataclass import dataclass
from kcli.core.options import ConsumerOptions
from kcli.core.types import Record

MAKERS = (dataclasses.dataclass, dataclass)


def point(maker: Any, **manner: Any) -> Any:
    class Point:
        """A place."""

        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list)
        hidden: str = field(default="", repr=False)
        note: str = field(default="", compare=False)

        @property
        def sum(self) -> int:
            return self.x + self.y

    Point.__qualname__ = "Point"
    return maker(slots=True, **manner)(Point)


def both(**manner: Any) -> list[Any]:
    return [point(maker, **manner) for maker in MAKERS]


def same(do: Any, **manner: Any) -> Any:
    """What ``do`` gives, or the error that it raises, for a class of either maker; they must not differ."""

    def outcome(cls: Any) -> Any:
        try:
            return do(cls)
        except (AttributeError, TypeError) as error:
            return type(error), str(error)

    theirs, ours = map(outcome, both(**manner))
    assert ours == theirs
    return ours


@pytest.mark.parametrize("manner", [{}, {"frozen": True}, {"kw_only": True}, {"eq": False}])
@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((), {}),
        ((1,), {}),
        ((1, 3, ["a"], "h", "n"), {}),
        ((1, 3, ["a"], "h", "n", 6), {}),
        ((1,), {"x": 2}),
        ((), {"x": 1, "note": "n"}),
        ((1,), {"z": 2}),
    ],
)
def test_arguments(manner: dict[str, Any], values: tuple[Any, ...], named: dict[str, Any]) -> None:
    same(lambda cls: repr(cls(*values, **named)), **manner)
    same(lambda cls: dataclasses.asdict(cls(*values, **named)), **manner)


def test_the_first_instance_and_the_next_are_alike() -> None:
    cls = point(dataclass, frozen=True)
    assert cls(1) == cls(1)
    assert cls(1).tags is not cls(1).tags
    assert inspect.signature(cls.__init__).parameters.keys() == {"self", "x", "y", "tags", "hidden", "note"}


def test_equality() -> None:
    assert same(lambda cls: [cls(1) == cls(1, note="other"), cls(1) == cls(2), cls(1) != cls(1)])
    assert same(lambda cls: [cls(1) == cls(1)], eq=False) == [False]
    one, other = both()
    assert one(1) != other(1)
    assert point(dataclass)(1).__eq__((1, 2)) is NotImplemented


def test_hash() -> None:
    assert same(lambda cls: hash(cls(1, 2, (), "h", "n")), frozen=True) == hash((1, 2, (), "h"))  # type: ignore[arg-type]
    assert same(lambda cls: hash(cls(1)))[0] is TypeError
    one = point(dataclass, eq=False)(1)
    assert hash(one) == hash(one)


def test_frozen() -> None:
    def assign(cls: Any) -> None:
        cls(1).x = 3

    def delete(cls: Any) -> None:
        del cls(1).x

    assert same(assign, frozen=True)[0] is FrozenInstanceError
    assert same(delete, frozen=True)[0] is FrozenInstanceError
    assert same(assign) is None


def test_no_other_attribute() -> None:
    def assign(cls: Any) -> None:
        cls(1).z = 3

    assert same(assign)[0] is AttributeError


def test_tools_of_the_standard_library() -> None:
    def tour(cls: Any) -> Any:
        made = cls(1, tags=["a"])
        match made:
            case cls(x, y):
                taken = (x, y)
        return [
            taken,
            [row.name for row in dataclasses.fields(cls)],
            dataclasses.is_dataclass(cls),
            repr(dataclasses.replace(made, y=9)),
            dataclasses.astuple(made),
            repr(copy.copy(made)),
            repr(copy.deepcopy(made)),
            made.sum,
        ]

    same(tour)
    same(tour, frozen=True)


def test_methods_of_the_class_win() -> None:
    def of(maker: Any) -> Any:
        class Loud:
            """A value that says itself."""

            x: int

            def __repr__(self) -> str:
                return "!"

            def __eq__(self, other: object) -> bool:
                return True

            def __hash__(self) -> int:
                return 9

        return maker(slots=True, frozen=True)(Loud)

    for cls in map(of, MAKERS):
        assert (repr(cls(1)), cls(1) == 7, hash(cls(1))) == ("!", True, 9)


def test_the_first_action_after_init() -> None:
    def of(maker: Any) -> Any:
        class Doubled:
            """Twice what was asked for."""

            x: int
            times: dataclasses.InitVar[int]
            y: int = field(init=False, default=7)
            secret: int = field(hash=False, default=0)

            def __post_init__(self, times: int) -> None:
                object.__setattr__(self, "x", self.x * times)

        return maker(slots=True, frozen=True)(Doubled)

    theirs, ours = map(of, MAKERS)
    assert repr(ours(3, 2)) == repr(theirs(3, 2))
    assert hash(ours(3, 2, 5)) == hash(theirs(3, 2, 6))
    with pytest.raises(TypeError, match="takes from 3 to 4"):
        ours(1, 2, 3, 4)


def test_inheritance() -> None:
    def of(maker: Any) -> Any:
        @maker(slots=True, frozen=True, kw_only=True)
        class Base:
            """Below."""

            a: int = 1

        @maker(slots=True, frozen=True, kw_only=True)
        class More(Base):
            """Above."""

            b: int

        return Base, More

    for base, more in map(of, MAKERS):
        assert base(a=5).a == 5  # compiled before that of the class above it
        assert (more(b=2).a, more(b=2, a=3).a, more(b=2).b) == (1, 3, 2)
        assert base(a=1) != more(b=1)
        with pytest.raises(TypeError, match="'b'"):
            more()


def test_the_standard_decorator_continues_above_it() -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Mine(Record):
        """A record and where it was found."""

        file: str = ""

    assert Mine("t", 0, 1, 2, 0, None, b"v", file="f").file == "f"
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        dataclasses.dataclass(type("Other", (Record,), {}))


def test_a_value_within_itself() -> None:
    cls = point(dataclass)
    made = cls(1)
    made.tags.append(made)
    assert repr(made).endswith("tags=[...], note='')")


def test_pickle() -> None:
    record = Record("t", 0, 7, -1, 0, b"k", None)
    assert pickle.loads(pickle.dumps(record)) == record
    options = ConsumerOptions(group_id="g")
    assert pickle.loads(pickle.dumps(options)) == options


def test_nothing_is_compiled_before_it_is_used() -> None:
    cls = point(dataclass, frozen=True)
    before = cls.__init__
    cls(1)
    assert cls.__init__ is not before
    assert cls.__init__.__qualname__ == "Point.__init__"


def test_a_class_without_slots_is_refused() -> None:
    with pytest.raises(AssertionError, match="slots"):
        dataclass(slots=False)  # type: ignore[arg-type]


# --- every class of kcli ---------------------------------------------------------------------------------


def classes() -> Iterator[type]:
    for found in pkgutil.walk_packages(kcli.__path__, "kcli."):
        if not found.name.endswith("__main__"):
            module = importlib.import_module(found.name)
            for value in vars(module).values():
                if (
                    isinstance(value, type)
                    and value.__module__ == found.name
                    and "__dataclass_fields__" in vars(value)
                ):
                    yield value


def standard(cls: Any) -> Any:
    """The standard decorator's class of the same fields."""
    rows = [
        (
            row.name,
            row.type,
            field(
                **{"default": row.default} if row.default_factory is dataclasses.MISSING else {},
                **{}
                if row.default_factory is dataclasses.MISSING
                else {"default_factory": row.default_factory},
                init=row.init,
                repr=row.repr,
                hash=row.hash,
                compare=row.compare,
                kw_only=row.kw_only,
            ),
        )
        for row in dataclasses.fields(cls)
    ]
    parameters = cls.__dataclass_params__
    return dataclasses.make_dataclass(
        cls.__name__, rows, frozen=parameters.frozen, eq=parameters.eq, slots=True, namespace={"__doc__": "-"}
    )


def own(cls: Any, name: str) -> bool:
    """Whether the class has written this method itself."""
    return getattr(cls.__dict__.get(name), "__module__", "") == cls.__module__


def test_every_class_of_kcli_is_what_the_standard_decorator_makes_of_it() -> None:
    seen = 0
    for cls in classes():
        other, seen = standard(cls), seen + 1
        names = [row.name for row in dataclasses.fields(cls)]
        values = {name: number for number, name in enumerate(names)}
        ours, theirs = cls(**values), other(**values)
        assert list(inspect.signature(cls.__init__).parameters) == list(
            inspect.signature(other.__init__).parameters
        )
        assert ours.__match_args__ == theirs.__match_args__
        assert (cls.__hash__ is None) == (other.__hash__ is None), cls
        if hasattr(cls, "__post_init__"):
            continue
        assert [getattr(ours, name) for name in names] == [getattr(theirs, name) for name in names]
        if not own(cls, "__repr__"):
            assert repr(ours).rpartition(".")[2] == repr(theirs)
        if not own(cls, "__eq__"):
            assert (ours == cls(**values), ours == theirs) == (theirs == other(**values), False), cls
        if cls.__hash__ not in (None, object.__hash__) and not own(cls, "__hash__"):
            assert hash(ours) == hash(theirs), cls
    assert seen > 150
