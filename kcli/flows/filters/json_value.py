"""JSON values as ``--where`` reads them: whole, or only the members that an expression uses.

Reading only some members saves most of the work, and is as strict: what is skipped must be JSON too. The only thing
that ``msgspec`` does not check in skipped parts is whether strings are UTF-8, so the caller first calls ``all_utf8``.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from kcli.flows.filters.expression import Path, Reader, chain, follow

Decode = Callable[[bytes], Any]

decode: Decode = msgspec.json.Decoder().decode
"""The whole value; ValueError or RecursionError for what is not JSON, and for some values that ``parse`` accepts."""


class _Nothing(msgspec.Struct):
    """An object of which no member is needed."""


_skip: Decode = msgspec.json.Decoder(_Nothing).decode


def parse(data: bytes) -> Any:
    """The whole value; ValueError or RecursionError for what is not JSON.

    A number beyond a double is infinite, as in Python's ``json``.
    """
    try:
        return decode(data)
    except msgspec.ValidationError:  # well-formed up to a number that msgspec rejects
        text = data.decode()
        _skip(b'{"":' + data + b"}")  # rejects what json accepts beyond the standard
        return json.loads(text, parse_int=_integer)


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


class Members:
    """Reads the members at ``paths`` of values, none of which is empty; ``decode`` returns the input of ``reader``.

    ``decode`` may reject a value that ``parse`` accepts, with ValueError as for what is not JSON.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        """Raises ValueError for names that ``msgspec`` does not support."""
        self._tree = _tree(paths)
        self.decode: Decode = msgspec.json.Decoder(_shape(self._tree)).decode

    def reader(self, path: Path) -> Reader:
        """The member at the end of ``path``, one of ``paths`` or a member of one."""
        attributes, branch = [], self._tree
        for name in path:
            if not branch:
                break
            attributes.append(_attribute(list(branch).index(name)))
            branch = branch[name]
        return chain(_attributes(attributes), follow(path[len(attributes) :]))


_Tree = dict[str, Any]
"""Members by name, with members of their own; a leaf is needed whole and has none."""


def _tree(paths: Iterable[Path]) -> _Tree:
    tree: _Tree = {}
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


def _shape(tree: _Tree) -> Any:
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


def _integer(digits: str) -> float:
    try:
        return int(digits)
    except ValueError:  # longer than Python converts
        return float(digits)
