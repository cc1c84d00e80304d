"""JSON values as ``--where`` reads them: whole, or only the members that an expression uses.

Reading only some members saves most of the work, and is as strict: what is skipped must be JSON too. The only thing
that ``msgspec`` does not check in skipped parts is whether strings are UTF-8, so the caller first calls ``all_utf8``.

Of several members of one name ``msgspec`` returns the last. A value in which a member is repeated that an expression
reads is refused (``Repeats``): which of them is meant is not known.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from operator import methodcaller
from typing import Any

import msgspec

from kcli.flows.filters.expression import Path, Reader, chain, follow
from kcli.serde.json_text import json_integer, json_number

Decode = Callable[[bytes], Any]

decode: Decode = msgspec.json.Decoder(float_hook=json_number).decode
"""The whole value; ValueError or RecursionError for what is not JSON, and for some values that ``parse`` accepts."""


class _Nothing(msgspec.Struct):
    """An object of which no member is needed."""


_skip: Decode = msgspec.json.Decoder(_Nothing).decode


def parse(data: bytes) -> Any:
    """The whole value; ValueError or RecursionError for what is not JSON."""
    try:
        return decode(data)
    except msgspec.ValidationError:  # well-formed up to a number that msgspec rejects
        text = data.decode()
        _skip(b'{"":' + data + b"}")  # rejects what json accepts beyond the standard
        return json.loads(text, parse_int=json_integer, parse_float=json_number)


def all_utf8(values: Sequence[bytes]) -> bool:
    """Whether all values are UTF-8."""
    if b"".join(values).isascii():
        return True
    try:
        for value in values:
            value.decode()
    except UnicodeDecodeError:
        return False
    return True


Tree = dict[str, Any]
"""Members by name, with members of their own; a leaf is needed whole and has none. Empty: the value is."""


class Members:
    """Reads some members of values; ``decode`` returns the input of ``reader``.

    ``decode`` may reject a value that ``parse`` accepts, with ValueError as for what is not JSON.
    """

    def __init__(self, tree: Tree) -> None:
        """Raises ValueError for names that ``msgspec`` does not support."""
        self._tree = tree
        self.decode: Decode = msgspec.json.Decoder(_shape(tree), float_hook=json_number).decode

    def reader(self, path: Path) -> Reader:
        """The member at the end of ``path``, a leaf of the tree or a member of one."""
        attributes, branch = [], self._tree
        for name in path:
            if not branch:
                break
            attributes.append(_attribute(list(branch).index(name)))
            branch = branch[name]
        return chain(_attributes(attributes), follow(path[len(attributes) :]))


def tree_of(paths: Sequence[Path]) -> Tree:
    """The members at the ends of ``paths``."""
    tree: Tree = {}
    if () in paths:
        return tree
    # The shortest first: a member that is needed whole needs no members of its own.
    for path in sorted(paths, key=len):
        branch = tree
        for depth, name in enumerate(path):
            if name in branch and not branch[name] and depth < len(path) - 1:
                break
            branch = branch.setdefault(name, {})
    return tree


def _attribute(index: int) -> str:
    return f"m{index}"


def _shape(tree: Tree) -> Any:
    """The type of a value with these members; for other types than objects only the type is read."""
    if not tree:
        return Any
    names = {_attribute(index): name for index, name in enumerate(tree)}
    fields = [(_attribute(index), _shape(branch), None) for index, branch in enumerate(tree.values())]
    made = msgspec.defstruct("Members", fields, rename=names, gc=False)
    return made | list | str | int | float | bool | None


def _attributes(names: Sequence[str]) -> Reader:
    if len(names) == 1:
        (name,) = names
        return lambda current: getattr(current, name, None)

    def member(current: Any) -> Any:
        for name in names:
            current = getattr(current, name, None)
        return current

    return member


# --- members of one name -----------------------------------------------------------------------------


class RepeatedError(ValueError):
    """An object has a member twice, and an expression reads it."""


class Repeats:
    """Refuses values in which a member that is read is repeated: one of ``tree``, or inside of its leaves one of
    ``names``, which are all that an expression has; None: any.

    Most values are cleared by counting names in them, others by reading and writing them, which loses a repeated member.
    """

    def __init__(self, tree: Tree, names: Iterable[str] | None) -> None:
        self._tree, self._names = tree, None if names is None else frozenset(names)
        some = sorted(self._names or ())
        written = [json.dumps(name, ensure_ascii=False).encode() for name in some]
        self._counts = [methodcaller("count", name) for name in written]
        self._spelled_otherwise = re.compile(_ESCAPES[all(map(_is_word, some))]).search

    def reader(self, values: Sequence[bytes], read: Decode) -> Decode:
        """``read`` for these values; it raises RepeatedError too."""
        if not self._may_repeat(values):
            return read

        def checked(data: bytes) -> Any:
            if self._names is None or self._may_repeat((data,)):
                self.check(data)
            return read(data)

        return checked

    def check(self, data: bytes) -> None:
        """Raises RepeatedError; what is wrong with ``data`` otherwise is left to its reader."""
        try:
            # Members are counted as quotes before a colon. Such quotes within strings are the same in both, unless
            # they are written as \\u0022.
            once, all_of_them = msgspec.json.encode(decode(data)), msgspec.json.format(data, indent=-1)
            if once.count(b'":') == all_of_them.count(b'":') and b"\\u0022" not in data:
                return
        except (ValueError, RecursionError):  # also for numbers that msgspec does not know
            pass
        try:
            value = json.loads(data, parse_int=str, parse_float=str, object_pairs_hook=_Object)
        except (ValueError, RecursionError):
            return
        name = self._repeated(value, self._tree)
        if name is not None:
            raise RepeatedError(f"the member {name!r} is there twice")

    def _may_repeat(self, values: Sequence[bytes]) -> bool:
        if self._names is None:
            return True
        return any(max(map(count, values), default=0) > 1 for count in self._counts) or any(
            map(self._spelled_otherwise, values)
        )

    def _repeated(self, value: Any, tree: Tree) -> str | None:
        """The first such member in ``value``."""
        inside: list[tuple[Any, Tree]] = []
        if isinstance(value, _Object):
            names = tree or (value if self._names is None else self._names)
            found = next((name for name in names if name in value.repeated), None)
            if found is not None:
                return found
            inside = [(one, tree.get(name, {})) for name, one in value.items() if name in tree or not tree]
        elif isinstance(value, list) and not tree:
            inside = [(one, tree) for one in value]
        return next(
            (name for one, branch in inside if (name := self._repeated(one, branch)) is not None), None
        )


_ESCAPES = {True: rb"\\u00[2-7]", False: rb"\\[u/]"}
"""How names that are words of ASCII may be written beside as they are, and how any others."""


class _Object(dict[str, Any]):
    """An object; ``repeated`` are the names of members that it had several times."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated: frozenset[str] = frozenset()
        if len(self) < len(pairs):
            names = [name for name, _value in pairs]
            self.repeated = frozenset(name for name in self if names.count(name) > 1)


def _is_word(name: str) -> bool:
    return name.isascii() and name.isidentifier()
