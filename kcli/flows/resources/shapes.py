"""What a part of a document may be: one description, by which it is read, checked, and described to editors.

A shape reads a node to a value, or reports to the ``Document`` why it cannot and returns None; a document with a fault
makes no resources, so nobody sees that None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Protocol

from kcli.core.classes import NamedTuple
from kcli.core.near_names import near_names
from kcli.files.yaml_nodes import Items, Node, Pairs, Scalar
from kcli.flows.configs.units import number_of
from kcli.flows.resources.faults import Fault
from kcli.flows.resources.resource import Place
from kcli.flows.resources.scalars import Meaning, Sort, meaning_of
from kcli.flows.resources.variables import ALONE, EXAMPLE, PATTERN, Variables

Path = tuple[str, ...]
Schema = dict[str, Any]
_VARIABLE: Schema = {"type": "string", "pattern": f"^{PATTERN}$"}
_LONGEST_SHOWN = 40


class Document:
    """One document that is being read. ``variables`` are replaced, where there are any. ``places`` has those of all its
    keys by path; ``ignored``: what has no meaning here, with the reason; ``is_bad``: whether it has a fault.
    """

    def __init__(self, file: str, node: Node, variables: Variables | None, faults: list[Fault]) -> None:
        self.file = file
        self.node = node
        self.variables = variables
        self.faults = faults
        self.is_bad = False
        self.places: dict[Path, Place] = {(): Place(file, node.line, node.column)}
        self.ignored: dict[str, str] = {}

    def fault(self, at: Node | Path, what: str, why: str = "", do: str = "") -> None:
        """Reports a fault at a node, or at a key that was read."""
        self.is_bad = True
        place = self.place(at) if not isinstance(at, Scalar | Pairs | Items) else self._at(at)
        self.faults.append(Fault(place, what, why, do))

    def place(self, path: Path) -> Place:
        """Of the key at ``path``, or of the nearest one above it."""
        while path not in self.places:
            path = path[:-1]
        return self.places[path]

    def ignore(self, path: Path, reason: str) -> None:
        """Names what has no meaning here."""
        self.ignored[".".join(path)] = reason

    def text(self, node: Scalar) -> str | None:
        """The text of a scalar with its variables replaced; None with a fault, which that of a missing one is later."""
        if "${" not in node.text or self.variables is None:
            return node.text
        try:
            text = self.variables.filled(node.text, self._at(node))
        except ValueError as error:
            self.fault(node, str(error), do=EXAMPLE)
            return None
        self.is_bad |= text is None
        return text

    def meaning(self, node: Scalar, *, number: bool = False) -> Meaning | None:
        """What a scalar means; None with a fault. ``number``: it can be nothing else, so that a variable alone is one in
        quotes, too: JSON and ``{…}`` have no other way to write it.
        """
        text = self.text(node)
        if text is None:
            return None
        is_plain = node.is_plain or (number and ALONE.fullmatch(node.text))
        return meaning_of(text) if is_plain else Meaning(Sort.TEXT, text)

    def _at(self, node: Node) -> Place:
        return Place(self.file, node.line, node.column)


class Shape(Protocol):
    """What a part may be. ``noun`` says it: ``a whole number``."""

    @property
    def noun(self) -> str:
        """As in "must be a whole number"."""

    def read(self, node: Node, path: Path, document: Document) -> Any:
        """The value, in canonical form; None after a fault."""

    def schema(self) -> Schema:
        """JSON Schema of the same."""


def shown(path: Path) -> str:
    """``spec.config.retention.ms``."""
    return ".".join(path) or "the document"


def described(node: Node) -> str:
    """What a node is, as it is written: values of variables are not shown."""
    if isinstance(node, Pairs):
        return "a mapping"
    if isinstance(node, Items):
        return "a list"
    if node.is_plain and meaning_of(node.text).sort is Sort.EMPTY:
        return "empty"
    text = node.text if len(node.text) <= _LONGEST_SHOWN else node.text[:_LONGEST_SHOWN] + "…"
    return text if node.is_plain or "${" in text else f"the text {text!r}"


def _refuse(shape: Shape, node: Node, path: Path, document: Document, do: str = "", why: str = "") -> None:
    is_filled = isinstance(node, Scalar) and "${" in node.text
    found = f"the value of {described(node)} is not" if is_filled else f"is {described(node)}"
    document.fault(node, f"{shown(path)} must be {shape.noun}, and {found}", why, do)


def _unclear(node: Scalar, path: Path, document: Document, meaning: Meaning, wanted: str) -> None:
    document.fault(node, f"{shown(path)} is {described(node)}", str(meaning.value), wanted)


class Whole:
    """A whole number from ``least`` to ``most``."""

    def __init__(self, least: int = 0, most: int = (1 << 31) - 1) -> None:
        self.least, self.most = least, most

    @property
    def noun(self) -> str:
        if self.most == (1 << 31) - 1:
            return f"a whole number from {self.least}"
        return f"a whole number from {self.least} to {self.most}"

    def read(self, node: Node, path: Path, document: Document) -> int | None:
        if not isinstance(node, Scalar):
            _refuse(self, node, path, document)
            return None
        meaning = document.meaning(node, number=True)
        if meaning is None:
            return None
        if meaning.sort is Sort.UNCLEAR:
            _unclear(
                node, path, document, meaning, "write the number with digits only, and without a 0 before it"
            )
        elif meaning.sort is not Sort.WHOLE:
            quoted = not node.is_plain and meaning_of(node.text).sort is Sort.WHOLE
            _refuse(self, node, path, document, "write it without quotes" if quoted else "")
        elif not self.least <= int(meaning.value or 0) <= self.most:
            _refuse(self, node, path, document)
        else:
            return int(meaning.value or 0)
        return None

    def schema(self) -> Schema:
        return {"anyOf": [{"type": "integer", "minimum": self.least, "maximum": self.most}, _VARIABLE]}


class Number:
    """A number that is not negative."""

    noun = "a number from 0"

    def read(self, node: Node, path: Path, document: Document) -> int | float | None:
        if not isinstance(node, Scalar):
            _refuse(self, node, path, document)
            return None
        meaning = document.meaning(node, number=True)
        if meaning is None:
            return None
        sort, value = meaning
        if sort is Sort.UNCLEAR:
            _unclear(node, path, document, meaning, "write the number with digits only")
        elif sort not in (Sort.WHOLE, Sort.NUMBER) or not isinstance(value, int | float) or value < 0:
            _refuse(self, node, path, document)
        else:
            return int(value) if isinstance(value, float) and value.is_integer() else value
        return None

    def schema(self) -> Schema:
        return {"anyOf": [{"type": "number", "minimum": 0}, _VARIABLE]}


class Text:
    """Text that is not empty. ``check``: returns what is wrong with it, or an empty text; ``pattern`` says the same to
    editors. ``numbers``: whether digits without quotes are text, too. ``nullable``: whether there may be none.
    """

    def __init__(
        self,
        noun: str = "text",
        *,
        check: Callable[[str], str] | None = None,
        pattern: str = "",
        numbers: bool = False,
        nullable: bool = False,
    ) -> None:
        self._noun, self._check, self._pattern = noun, check, pattern
        self._numbers, self._nullable = numbers, nullable

    @property
    def noun(self) -> str:
        return self._noun

    def read(self, node: Node, path: Path, document: Document) -> str | None:
        if not isinstance(node, Scalar):
            _refuse(self, node, path, document)
            return None
        meaning = document.meaning(node)
        if meaning is None:
            return None
        sort, value = meaning
        if sort is Sort.EMPTY and self._nullable:
            return None
        if sort is Sort.UNCLEAR:
            _unclear(node, path, document, meaning, f"write it in quotes: {_quoted(node)}")
        elif sort is Sort.TEXT or (sort is Sort.WHOLE and self._numbers):
            text = str(value)
            wrong = (self._check(text) if self._check is not None else "") if text else "it is empty"
            if not wrong:
                return text
            _refuse(self, node, path, document, why=wrong)
        else:
            _refuse(
                self,
                node,
                path,
                document,
                "" if sort is Sort.EMPTY else f"write it in quotes: {_quoted(node)}",
            )
        return None

    def schema(self) -> Schema:
        made: Schema = {"type": "string", "minLength": 1}
        if self._pattern:
            made = {"anyOf": [{**made, "pattern": self._pattern}, {"type": "string", "pattern": PATTERN}]}
        kinds = [made, *([{"type": "integer", "minimum": 0}] if self._numbers else ())]
        kinds += [{"type": "null"}] if self._nullable else []
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}


def _quoted(node: Scalar) -> str:
    return "'" + node.text.replace("'", "''") + "'"


class Choice:
    """One of ``words``; with ``loose`` in any case, and without the underscores: those of Kafka's names, as
    ``ALTER_CONFIGS`` and ``AlterConfigs``. ``also``: other words for them, by their form. ``reasons``: words that others
    may write, and why they are refused.
    """

    def __init__(
        self,
        words: Iterable[str],
        *,
        loose: bool = False,
        also: Mapping[str, str] | None = None,
        reasons: Mapping[str, str] | None = None,
    ) -> None:
        self.words = tuple(words)
        self._by_form = {self._form(word) if loose else word: word for word in self.words} | dict(also or {})
        self._loose, self._reasons = loose, dict(reasons or {})

    @staticmethod
    def _form(text: str) -> str:
        return text.lower().replace("_", "").replace("-", "")

    @property
    def noun(self) -> str:
        return "one of " + ", ".join(self.words) if len(self.words) > 1 else self.words[0]

    def read(self, node: Node, path: Path, document: Document) -> str | None:
        if not isinstance(node, Scalar):
            _refuse(self, node, path, document)
            return None
        text = document.text(node)
        if text is None:
            return None
        form = self._form(text) if self._loose else text
        found = self._by_form.get(form)
        if found is None:
            near = near_names(text.lower(), self.words)
            _refuse(
                self,
                node,
                path,
                document,
                f"did you mean {near[0]}?" if near else "",
                self._reasons.get(form, ""),
            )
        return found

    def schema(self) -> Schema:
        return {"anyOf": [{"enum": list(self.words)}, _VARIABLE]}


class ConfigValue:
    """The value of a configuration as Kafka writes it: numbers as they stand, ``true``, and lists with commas. Units are
    those of ``configs alter``: ``retention.ms: 7d``.
    """

    noun = "text, a number, true or false, or a list of these"

    def read(self, node: Node, path: Path, document: Document) -> str | None:
        if isinstance(node, Items):
            parts = [self._one(item, path, document) for item in node.items]
            return None if None in parts else ",".join(map(str, parts))
        return self._one(node, path, document)

    def _one(self, node: Node, path: Path, document: Document) -> str | None:
        if not isinstance(node, Scalar):
            _refuse(self, node, path, document)
            return None
        text = document.text(node)
        if text is None or not node.is_plain:
            return text if text is None else _number(text, node, path, document)
        meaning = meaning_of(text)
        if meaning.sort is Sort.UNCLEAR:
            truth = text.lower() in ("yes", "no", "on", "off")
            do = f"write it in quotes for the text {_quoted(node)}" + (", or true or false" if truth else "")
            _unclear(node, path, document, meaning, do)
            return None
        if meaning.sort is Sort.EMPTY:
            document.fault(
                node,
                f"{shown(path)} has no value",
                do="write '' for the empty text; what a file does not name is left as it is",
            )
            return None
        return text.lower() if meaning.sort is Sort.TRUTH else _number(text, node, path, document)

    def schema(self) -> Schema:
        one = {"type": ["string", "number", "boolean"]}
        return {"anyOf": [one, {"type": "array", "items": one}]}


def _number(text: str, node: Scalar, path: Path, document: Document) -> str | None:
    """The text; where it has a unit, the number of it that the configuration counts."""
    try:
        return number_of(path[-1], text)
    except ValueError as error:
        document.fault(node, f"{shown(path)}: {error}")
        return None


class Listed:
    """A list of ``least`` elements or more; ``unique``: none of them twice; ``nullable``: none may be without a value."""

    def __init__(self, of: Shape, least: int = 1, *, unique: bool = False, nullable: bool = False) -> None:
        self._of, self._least, self._unique, self._nullable = of, least, unique, nullable

    @property
    def noun(self) -> str:
        return f"a list, each element {self._of.noun}"

    def read(self, node: Node, path: Path, document: Document) -> list[Any] | None:
        if self._nullable and _is_empty(node):
            return []
        if not isinstance(node, Items):
            single = isinstance(node, Scalar) and not _is_empty(node)
            do = f"a list of one is written [{node.text}]" if isinstance(node, Scalar) and single else ""
            _refuse(self, node, path, document, do)
            return None
        if len(node.items) < self._least:
            document.fault(node, f"{shown(path)} is empty", do="name what is meant, or leave it out")
            return None
        found = []
        for number, item in enumerate(node.items):
            inner = (*path, str(number))
            document.places[inner] = Place(document.file, item.line, item.column)
            found.append(self._of.read(item, inner, document))
        if self._unique and not document.is_bad and len(set(map(str, found))) < len(found):
            document.fault(node, f"{shown(path)} has an element twice")
        return found

    def schema(self) -> Schema:
        made: Schema = {"type": "array", "items": self._of.schema(), "minItems": self._least}
        return {**made, "uniqueItems": True} if self._unique else made


class Mapped:
    """A mapping of keys that are not known before, as of configurations. ``key`` makes them of their text, or raises
    ValueError with what they should be. ``nullable``: whether it may be without a value.
    """

    def __init__(
        self,
        of: Shape,
        key: Callable[[str], Any] = str,
        pattern: str = "",
        noun: str = "a mapping",
        *,
        nullable: bool = False,
    ) -> None:
        self._of, self._key, self._pattern, self._noun = of, key, pattern, noun
        self._nullable = nullable

    @property
    def noun(self) -> str:
        return self._noun

    def read(self, node: Node, path: Path, document: Document) -> dict[Any, Any] | None:
        if self._nullable and _is_empty(node):
            return {}
        if not isinstance(node, Pairs):
            _refuse(self, node, path, document, "leave it out where it is empty" if _is_empty(node) else "")
            return None
        found: dict[Any, Any] = {}
        file, places, read = document.file, document.places, self._of.read
        for key, value in node.pairs:
            text = document.text(key)
            if text is None:
                continue
            inner = (*path, text)
            places[inner] = Place(file, key.line, key.column)
            try:
                made = self._key(text)
            except ValueError as error:
                document.fault(key, f"the key {key.text!r} of {shown(path)} must be {error}")
                continue
            if made in found:
                document.fault(key, f"{shown(inner)} is twice in the mapping", do="keep one of them")
            found[made] = read(value, inner, document)
        return found

    def schema(self) -> Schema:
        if not self._pattern:
            return {"type": "object", "additionalProperties": self._of.schema()}
        return {
            "type": "object",
            "patternProperties": {self._pattern: self._of.schema()},
            "additionalProperties": False,
        }


class Field(NamedTuple):
    """A key of a record. ``needed``: whether it must be there."""

    shape: Shape
    meaning: str = ""
    needed: bool = False


class Record:
    """A mapping with known keys. ``unknown``: why others are ignored; without it they are faults. ``nullable``: whether
    it may be empty, which is no key at all. ``either``: keys of which it has one, or at most one with ``or_none``.
    """

    def __init__(
        self,
        fields: Mapping[str, Field],
        *,
        unknown: str = "",
        nullable: bool = False,
        either: Sequence[str] = (),
        or_none: bool = False,
    ) -> None:
        self.fields = dict(fields)
        self._either, self._or_none = either, or_none
        self._needed = [name for name, field in self.fields.items() if field.needed]
        self._unknown, self._nullable = unknown, nullable

    noun = "a mapping"

    def read(self, node: Node, path: Path, document: Document) -> dict[str, Any] | None:
        if self._nullable and _is_empty(node):
            return {}
        if not isinstance(node, Pairs):
            _refuse(self, node, path, document)
            return None
        found: dict[str, Any] = {}
        file, places, fields = document.file, document.places, self.fields
        for key, value in node.pairs:
            name = key.text
            inner = (*path, name)
            places[inner] = Place(file, key.line, key.column)
            field = fields.get(name)
            if field is not None:
                found[name] = field.shape.read(value, inner, document)
            elif self._unknown:
                document.ignore(inner, self._unknown)
            else:
                self._refuse_key(key, path, document)
        for name in self._needed:
            if name not in found:
                what = f"{shown(path)} lacks {name}" if path else f"the document lacks {name}"
                document.fault(path, what, do=fields[name].meaning and f"{name}: {fields[name].meaning}")
        self._check_either([name for name in self._either if name in found], path, document)
        return found

    def _check_either(self, given: Sequence[str], path: Path, document: Document) -> None:
        if len(given) > 1:
            what = f"{shown(path)} has {' and '.join(given)}"
            document.fault((*path, given[1]), what, do="keep one of them")
        elif self._either and not given and not self._or_none:
            document.fault(path, f"{shown(path)} lacks {' or '.join(self._either)}")

    def _refuse_key(self, key: Scalar, path: Path, document: Document) -> None:
        near = near_names(key.text, self.fields)
        do = f"did you mean {near[0]}?" if near else f"{shown(path)} has {', '.join(self.fields)}"
        document.fault(key, f"{shown((*path, key.text))} is unknown", do=do)

    def schema(self) -> Schema:
        made: Schema = {
            "type": ["object", "null"] if self._nullable else "object",
            "properties": {
                name: {"description": field.meaning, **field.shape.schema()}
                if field.meaning
                else field.shape.schema()
                for name, field in self.fields.items()
            },
            "additionalProperties": False,
        }
        if self._needed:
            made["required"] = self._needed
        if self._or_none:
            pairs = [{"type": "object", "required": list(two)} for two in combinations(self._either, 2)]
            made["not"] = {"anyOf": pairs}
        elif self._either:
            made["oneOf"] = [{"required": [name]} for name in self._either]
        return made


def _is_empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.is_plain and meaning_of(node.text).sort is Sort.EMPTY


class NoMeaning:
    """What a document of another tool may have, and has no meaning here."""

    noun = "anything"

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def read(self, node: Node, path: Path, document: Document) -> None:  # noqa: ARG002 - the shape's signature
        document.ignore(path, self._reason)

    def schema(self) -> Schema:
        return {}


class Constant:
    """One text, which was looked at already."""

    def __init__(self, *texts: str) -> None:
        self._texts = texts

    @property
    def noun(self) -> str:
        return " or ".join(self._texts)

    def read(self, node: Node, path: Path, document: Document) -> None:
        """Nothing: by it the shape of the document was chosen."""

    def schema(self) -> Schema:
        return {"enum": list(self._texts)}


def whole_key(text: str) -> int:
    """The key of a partition."""
    meaning = meaning_of(text)
    if meaning.sort is not Sort.WHOLE or int(meaning.value or 0) < 0:
        raise ValueError("the number of a partition")
    return int(meaning.value or 0)


def moved(places: Mapping[Path, Place], renamed: Sequence[tuple[Path, Path]]) -> dict[Path, Place]:
    """The places of a resource: those of the document whose path begins as one of ``renamed``, under its other name."""
    found: dict[Path, Place] = {(): places[()]}
    for path, place in places.items():
        for old, new in renamed:
            if path[: len(old)] == old:
                into = new + path[len(old) :]
                if into:
                    found[into] = place
                break
    return found
