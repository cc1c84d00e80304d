"""YAML as a tree with the place of every node, and without a meaning: whether ``yes`` is text is for the reader to say.

Nothing is built but what the text has: aliases, which a bomb is made of, and tags are refused, as is deep nesting.
PyYAML, in C where its wheel has it, finds the events; one pass over them makes the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kcli.core.classes import NamedTuple

DEEPEST = 30
"""Levels of mappings and lists in each other."""


class YamlError(ValueError):
    """What is wrong with a text, at a line and a column from one."""

    def __init__(self, line: int, column: int, why: str, do: str = "") -> None:
        super().__init__(why)
        self.line, self.column, self.why, self.do = line, column, why, do


class Scalar(NamedTuple):
    """``is_plain``: without quotes, so that it may be a number. Lines and columns count from one."""

    text: str
    is_plain: bool
    line: int
    column: int


class Pairs(NamedTuple):
    """A mapping, in the order of the text."""

    pairs: list[tuple[Scalar, Node]]
    line: int
    column: int


class Items(NamedTuple):
    """A list."""

    items: list[Node]
    line: int
    column: int


Node = Scalar | Pairs | Items


def yaml_documents(text: str, repeated: list[YamlError]) -> Iterator[Node]:
    """The root of each document; YamlError at what is refused, after the documents before it. Empty documents are a
    scalar without text. ``repeated`` gets the keys that are twice in a mapping, which has the first of them only.
    """
    import yaml  # on use

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from _trees(yaml, yaml.parse(text, Loader=loader), repeated)
    except yaml.YAMLError as error:
        why = " ".join(filter(None, (getattr(error, "context", ""), getattr(error, "problem", ""))))
        if "nesting depth" in why:
            why = f"it is nested more than {DEEPEST} levels deep"
        do = "text with {{ … }} or %, @ and ` at its beginning is in quotes" if "token" in why else ""
        raise YamlError(*_position(error, text), why or str(error).partition("\n")[0], do) from None


def _position(error: Any, text: str) -> tuple[int, int]:
    """Line and column; of what is not closed, those where it begins, or where the text ends."""
    end = len(text.rstrip())
    for mark in (getattr(error, "problem_mark", None), getattr(error, "context_mark", None)):
        if mark is not None and mark.index < end:
            return mark.line + 1, mark.column + 1
    at = min(getattr(error, "position", end), end)  # of a character that YAML cannot have
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


class _Open(NamedTuple):
    """A node that has not ended. ``keys``: of a mapping, those so far; ``key``: the one whose value is awaited."""

    node: Pairs | Items
    keys: dict[str, Scalar] | None


def _trees(yaml: Any, events: Iterator[Any], repeated: list[YamlError]) -> Iterator[Node]:
    scalar_event, mapping_event, sequence_event = (
        yaml.ScalarEvent,
        yaml.MappingStartEvent,
        yaml.SequenceStartEvent,
    )
    ends = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
    stack: list[_Open] = []
    key: list[Scalar | None] = []  # beside each of ``stack``
    for event in events:
        kind = type(event)
        if kind is scalar_event:
            _check_tag(event, plain_may=event.implicit[0] or event.implicit[1])
            mark = event.start_mark
            node: Node = Scalar(event.value, event.implicit[0], mark.line + 1, mark.column + 1)
        elif kind in (mapping_event, sequence_event):
            _check_tag(event, plain_may=event.implicit)
            mark = event.start_mark
            at = mark.line + 1, mark.column + 1
            if len(stack) == DEEPEST:
                raise YamlError(*at, f"it is nested more than {DEEPEST} levels deep")
            made = Pairs([], *at) if kind is mapping_event else Items([], *at)
            stack.append(_Open(made, {} if kind is mapping_event else None))
            key.append(None)
            continue
        elif kind in ends:
            node = stack.pop().node
            key.pop()
        elif kind is yaml.AliasEvent:
            mark = event.start_mark
            raise YamlError(
                mark.line + 1,
                mark.column + 1,
                f"*{event.anchor} is an alias, which is not read",
                "write out what it repeats",
            )
        else:
            continue
        if not stack:
            yield node
            continue
        node_above, keys = stack[-1]
        if keys is None:
            node_above.items.append(node)  # type: ignore[union-attr]
        elif key[-1] is None:
            key[-1] = _checked_key(node)
        else:
            _add(node_above, keys, key[-1], node, repeated)
            key[-1] = None


def _check_tag(event: Any, *, plain_may: bool) -> None:
    if event.tag is not None and not plain_may:
        mark = event.start_mark
        raise YamlError(
            mark.line + 1,
            mark.column + 1,
            f"{event.tag.replace('tag:yaml.org,2002:', '!!')} is a tag, which is not read",
            "text is in quotes, a number without them",
        )


def _checked_key(node: Node) -> Scalar:
    if not isinstance(node, Scalar):
        raise YamlError(
            node.line,
            node.column,
            "a key is text, not a mapping or a list",
            "text that begins with { or [ is in quotes",
        )
    if node.text == "<<" and node.is_plain:
        raise YamlError(node.line, node.column, "<< merges an alias, which is not read", "write out its keys")
    return node


def _add(above: Node, keys: dict[str, Scalar], key: Scalar, node: Node, repeated: list[YamlError]) -> None:
    before = keys.setdefault(key.text, key)
    if before is key:
        above.pairs.append((key, node))  # type: ignore[union-attr]
        return
    why = f"the key {key.text} is in line {before.line} already"
    repeated.append(YamlError(key.line, key.column, why, "keep one of them"))
