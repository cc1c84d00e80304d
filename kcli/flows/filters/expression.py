"""The syntax trees of ``grammar`` as closures, so that a filter interprets none for each record.

A closure returns what the interpreter of ``jmespath`` returns for values that JSON can represent, its peculiarities
included: strings are ordered, ``[1] == [true]``, 0 is true, and a mismatched type raises an error. A node without a
closure of its own is left to the interpreter. Pure.

A number and text have no order, which is an error (``UnlikeError``); that they are not equal is a result, but seldom the
question: it is reported to ``unlike``.

The root of an expression is the record. Which of its fields, and which members of its value, an expression uses is
known before the first record is read (``Expression.paths``); a caller needs to provide only these.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from jmespath.visitor import Options, TreeInterpreter

from kcli.flows.filters.grammar import Node
from kcli.flows.filters.numbers import NUMBERS, Functions, by_value, same_number

Reader = Callable[[Any], Any]
"""From the input of an expression to its result; raises TypeError or JMESPathError as ``jmespath`` does."""
Path = tuple[str, ...]
"""Names of members from the record down; empty for the record itself."""
Resolve = Callable[[Path], Reader]

_ORDERED = NUMBERS | {str}
_PLAIN = _ORDERED | {type(None), bool}
_UNLIKE: Mapping[type, frozenset[type]] = {**dict.fromkeys(NUMBERS, frozenset((str,))), str: NUMBERS}
"""The types of which no value equals one of this type, where numbers and text are concerned."""
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}


class UnlikeError(TypeError):
    """A number and text were compared; ``comparison`` as it was written."""

    def __init__(self, comparison: str, one: Any, other: Any) -> None:
        super().__init__(comparison, one, other)

    def __str__(self) -> str:
        comparison, one, other = self.args
        return f"{comparison}: {_described(one)} was compared with {_described(other)}"


Report = Callable[[UnlikeError], bool]
"""Is given a comparison whose operands cannot be equal; returns False, which the result is."""


class Expression:
    """A parsed expression.

    ``paths`` are the distinct paths in a record that it uses. ``names`` are all names of members that it looks up, and
    ``reads_objects`` says whether it may depend on others as well.
    """

    def __init__(self, parsed: Node) -> None:
        self._parsed = parsed
        paths: dict[Path, None] = {}

        def note(path: Path) -> Reader:
            paths[path] = None
            return itself

        self.predicate(note)
        self.paths = tuple(paths)
        nodes = list(_nodes(parsed))
        self.names = frozenset(node["value"] for node in nodes if node["type"] == "field")
        self.reads_objects = any(map(_may_read_objects, nodes))

    def predicate(self, resolve: Resolve, unlike: Report = bool) -> Callable[[Any], bool]:
        """Whether the result is true, for records as ``resolve`` reads them: it returns a reader for each path."""
        return _Compiler(resolve, unlike).truth(self._parsed)


def itself(current: Any) -> Any:
    """The reader of the empty path."""
    return current


def follow(path: Path) -> Reader:
    """The member at the end of ``path``, of parsed JSON; None where there is none."""
    if not path:
        return itself
    if len(path) == 1:
        (name,) = path
        return lambda current: current.get(name) if isinstance(current, dict) else None

    def member(current: Any) -> Any:
        for name in path:
            if not isinstance(current, dict):
                return None
            current = current.get(name)
        return current

    return member


def chain(first: Reader, then: Reader) -> Reader:
    """Applies ``then`` to the result of ``first``."""
    if first is itself:
        return then
    if then is itself:
        return first
    return lambda current: then(first(current))


def is_true(result: Any) -> bool:
    """Truth by JMESPath's rules: null, false and empty values are false, 0 is true."""
    return bool(result) or type(result) in NUMBERS


class _Compiler:
    """Closures for one scope: that of the record, or of a value inside an expression, where ``resolve`` is
    ``follow``.
    """

    def __init__(self, resolve: Resolve, unlike: Report) -> None:
        self._resolve = resolve
        self._unlike = unlike
        self._inside = self if resolve is follow else _Compiler(follow, unlike)

    def truth(self, node: Node) -> Callable[[Any], bool]:
        """Whether the result of ``node`` is true."""
        kind = node["type"]
        if kind == "and_expression":
            return _all_of([self.truth(one) for one in _operands(node)])
        if kind == "or_expression":
            return _any_of([self.truth(one) for one in _operands(node)])
        if kind == "not_expression":
            inner = self.truth(node["children"][0])
            return lambda current: not inner(current)
        if kind == "comparator":
            return self._comparison(node, otherwise=False)
        read = self.value(node)
        if kind in ("in", "match"):
            return read
        return lambda current: bool(found := read(current)) or type(found) in NUMBERS

    def value(self, node: Node) -> Reader:
        """The result of ``node``."""
        compiled = getattr(self, f"_{node['type']}", None)
        return self._interpreted(node) if compiled is None else compiled(node)

    # --- paths -------------------------------------------------------------------------------------

    def _field(self, node: Node) -> Reader:
        return self._resolve((node["value"],))

    def _subexpression(self, node: Node) -> Reader:
        children = node["children"]
        names = _leading_names(children)
        if names:
            return self._rest(self._resolve(names), children[len(names) :])
        return self._rest(self.value(children[0]), children[1:])

    def _index_expression(self, node: Node) -> Reader:
        first, *rest = node["children"]
        return self._rest(self.value(first), rest)

    _pipe = _index_expression

    def _rest(self, read: Reader, nodes: Sequence[Node]) -> Reader:
        """Applies each node to the result of the previous node."""
        for node in nodes:
            read = chain(read, self._inside.value(node))
        return read

    def _current(self, _node: Node) -> Reader:
        return self._resolve(())

    _identity = _current

    def _index(self, node: Node) -> Reader:
        index = node["value"]

        def element(current: Any) -> Any:
            if isinstance(current, list) and -len(current) <= index < len(current):
                return current[index]
            return None

        return chain(self._resolve(()), element)

    def _slice(self, node: Node) -> Reader:
        some = slice(*node["children"])
        part: Reader = lambda current: current[some] if isinstance(current, list) else None  # noqa: E731
        return chain(self._resolve(()), part)

    def _literal(self, node: Node) -> Reader:
        return _constant(node["value"])

    # --- logic -------------------------------------------------------------------------------------

    def _and_expression(self, node: Node) -> Reader:
        return _first_where([self.value(one) for one in _operands(node)], wanted=False)

    def _or_expression(self, node: Node) -> Reader:
        return _first_where([self.value(one) for one in _operands(node)], wanted=True)

    def _not_expression(self, node: Node) -> Reader:
        return self.truth(node)

    def _comparator(self, node: Node) -> Reader:
        return self._comparison(node, otherwise=None)

    def _comparison(self, node: Node, *, otherwise: Any) -> Reader:
        """``otherwise`` is the result for operands without an order."""
        left, right = node["children"]
        if left["type"] == "literal" and node["value"] in ("eq", "ne"):
            left, right = right, left
        read, other = self.value(left), self.value(right)
        text = node.get("text", "")
        if node["value"] not in _COMPARISONS:
            if right["type"] == "literal":
                equal = _equal_to(read, right["value"], text, self._unlike)
            else:
                equal = _equal(read, other, text, self._unlike)
            return (lambda current: not equal(current)) if node["value"] == "ne" else equal
        compare = _COMPARISONS[node["value"]]
        if right["type"] == "literal" and type(right["value"]) in _ORDERED:
            return _ordered_to(compare, read, right["value"], otherwise, text)
        return _ordered(compare, read, other, otherwise, text)

    def _match(self, node: Node) -> Reader:
        read, search = self.value(node["children"][0]), re.compile(node["value"], re.DOTALL).search

        def matches(current: Any) -> bool:
            found = read(current)
            if type(found) is str:
                return search(found) is not None
            if type(found) in NUMBERS:
                raise UnlikeError(node["text"], found, node["value"])
            return False

        return matches

    def _in(self, node: Node) -> Reader:
        left, right = node["children"]
        read, others, text = self.value(left), self.value(right), node["text"]
        if right["type"] == "literal":
            return _among(read, right["value"], text, self._unlike)

        def contained(current: Any) -> bool:
            held = others(current)
            if held is None:
                return False
            if type(held) is not list:
                raise TypeError(f"{text}: {_described(held)} is not a list")
            return _among(read, held, text, self._unlike)(current)

        return contained

    # --- lists -------------------------------------------------------------------------------------

    def _projection(self, node: Node) -> Reader:
        left, right = node["children"]
        return _projected(self.value(left), self._inside.value(right))

    def _filter_projection(self, node: Node) -> Reader:
        left, right, condition = node["children"]
        wanted, read = self._inside.truth(condition), self.value(left)
        return _projected(_filtered(read, wanted), self._inside.value(right))

    def _flatten(self, node: Node) -> Reader:
        read = self.value(node["children"][0])

        def flat(current: Any) -> Any:
            base = read(current)
            if not isinstance(base, list):
                return None
            return [one for item in base for one in (item if isinstance(item, list) else (item,))]

        return flat

    def _multi_select_list(self, node: Node) -> Reader:
        readers = [self.value(child) for child in node["children"]]
        if self._inside is not self:  # a record is never null
            if all(child["type"] == "literal" for child in node["children"]):
                return _constant([child["value"] for child in node["children"]])
            return lambda row: [read(row) for read in readers]
        return lambda current: None if current is None else [read(current) for read in readers]

    # --- functions ---------------------------------------------------------------------------------

    def _function_expression(self, node: Node) -> Reader:
        name = node["value"]
        arguments = [self.value(child) for child in node["children"]]
        if name in _QUICK:
            return _calling(_QUICK[name], arguments)
        functions = Functions()
        if not any(one["types"] for one in _types_of(name)):  # it accepts any type: there is nothing to check
            function = Functions.FUNCTION_TABLE[name]["function"]
            return lambda current: function(functions, *[read(current) for read in arguments])
        call = functions.call_function
        return lambda current: call(name, [read(current) for read in arguments])

    def _expref(self, node: Node) -> Reader:
        """An argument for a function, which has it interpreted for each element."""
        return _constant(_Interpreter(self._inside).visit(node, None))

    def _interpreted(self, node: Node) -> Reader:
        here, visit = self._resolve(()), _Interpreter(self._inside).visit
        return lambda current: visit(node, here(current))


class _Interpreter(TreeInterpreter):  # type: ignore[misc]
    """The interpreter of ``jmespath``, for what it does not know or would not report: see ``_Compiler``."""

    def __init__(self, compiler: _Compiler) -> None:
        super().__init__(Options(custom_functions=Functions()))
        self._compiler = compiler
        self._compiled: dict[int, Reader] = {}

    def visit(self, node: Node, *args: Any, **kwargs: Any) -> Any:
        """The result of a node; the first of ``args`` is its input."""
        if node["type"] not in ("comparator", "in", "match"):
            return super().visit(node, *args, **kwargs)
        read = self._compiled.get(id(node))
        if read is None:
            read = self._compiled[id(node)] = self._compiler.value(node)
        return read(args[0])


def _operands(node: Node) -> list[Node]:
    """The operands of ``a && b && c``, parsed as ``(a && b) && c``; without recursion, since chains may be very long."""
    found = []
    kind = node["type"]
    while node["type"] == kind:
        node, last = node["children"]
        found.append(last)
    return [node, *reversed(found)]


def _leading_names(nodes: Sequence[Node]) -> Path:
    names = []
    for node in nodes:
        if node["type"] != "field":
            break
        names.append(node["value"])
    return tuple(names)


def _constant(value: Any) -> Reader:
    return lambda _current: value


def _all_of(conditions: Sequence[Callable[[Any], bool]]) -> Callable[[Any], bool]:
    if len(conditions) == 2:
        one, two = conditions
        return lambda current: one(current) and two(current)

    def every(current: Any) -> bool:
        for condition in conditions:  # noqa: SIM110 - all() with a generator is half as fast
            if not condition(current):
                return False
        return True

    return every


def _any_of(conditions: Sequence[Callable[[Any], bool]]) -> Callable[[Any], bool]:
    if len(conditions) == 2:
        one, two = conditions
        return lambda current: one(current) or two(current)

    def some(current: Any) -> bool:
        for condition in conditions:  # noqa: SIM110 - as above
            if condition(current):
                return True
        return False

    return some


def _first_where(readers: Sequence[Reader], *, wanted: bool) -> Reader:
    """The first result whose truth is ``wanted``, else the last one; what follows is not evaluated."""

    def first(current: Any) -> Any:
        for read in readers:
            result = read(current)
            if is_true(result) is wanted:
                break
        return result

    return first


def _equal_to(read: Reader, literal: Any, text: str, unlike: Report) -> Callable[[Any], bool]:
    if literal is None or isinstance(literal, bool):
        return lambda current: read(current) is literal
    kind = type(literal)
    others = _UNLIKE.get(kind, frozenset())
    if kind not in NUMBERS:
        return lambda current: (
            (found := read(current)) == literal
            or (type(found) in others and unlike(UnlikeError(text, found, literal)))
        )

    def equal(current: Any) -> bool:
        found = read(current)
        if type(found) is kind:
            return bool(found == literal)
        return same_number(found, literal) or (
            type(found) is str and unlike(UnlikeError(text, found, literal))
        )

    return equal


def _equal(read: Reader, other: Reader, text: str, unlike: Report) -> Callable[[Any], bool]:
    def equal(current: Any) -> bool:
        one, two = read(current), other(current)
        if type(one) is type(two):
            return bool(one == two)
        return same_number(one, two) or (
            type(one) in _UNLIKE.get(type(two), ()) and unlike(UnlikeError(text, one, two))
        )

    return equal


def _among(read: Reader, wanted: Sequence[Any], text: str, unlike: Report) -> Callable[[Any], bool]:
    """Whether the result equals one of ``wanted``; reported where it can equal none of them."""
    plain = frozenset((type(one) is bool, one) for one in wanted if type(one) in _PLAIN)
    numbers = [one for one in wanted if type(one) in NUMBERS]
    kinds = frozenset(map(type, wanted))
    unlike_all = {kind for kind, others in _UNLIKE.items() if kinds and kinds <= others}

    def among(current: Any) -> bool:
        found = read(current)
        kind = type(found)
        if kind not in _PLAIN:
            return found in wanted
        if (kind is bool, found) in plain:
            return True
        if kind in NUMBERS and any(same_number(found, one) for one in numbers):
            return True
        return kind in unlike_all and unlike(UnlikeError(text, found, wanted[0]))

    return among


def _ordered_to(
    compare: Callable[[Any, Any], bool], read: Reader, literal: Any, otherwise: Any, text: str
) -> Reader:
    kind = type(literal)

    def ordered(current: Any) -> Any:
        found = read(current)
        if type(found) is kind:
            return compare(found, literal)
        try:
            return by_value(compare, found, literal) if type(found) in _ORDERED else otherwise
        except TypeError:
            raise UnlikeError(text, found, literal) from None

    return ordered


def _ordered(
    compare: Callable[[Any, Any], bool], read: Reader, other: Reader, otherwise: Any, text: str
) -> Reader:
    def ordered(current: Any) -> Any:
        one, two = read(current), other(current)
        try:
            return (
                by_value(compare, one, two) if type(one) in _ORDERED and type(two) in _ORDERED else otherwise
            )
        except TypeError:
            raise UnlikeError(text, one, two) from None

    return ordered


def _described(value: Any) -> str:
    """``the text '80'``, ``the number 80``; of a long value the beginning."""
    if value is None or type(value) is bool:
        return str(value).lower().replace("none", "null")
    shown = str(value) if isinstance(value, Decimal) else repr(value)
    kind = "text" if type(value) is str else "number" if type(value) in NUMBERS else "value"
    return f"the {kind} {shown if len(shown) <= 60 else shown[:60] + '…'}"


def _projected(read: Reader, right: Reader) -> Reader:
    def projected(current: Any) -> Any:
        base = read(current)
        if not isinstance(base, list):
            return None
        return [found for item in base if (found := right(item)) is not None]

    return projected


def _filtered(read: Reader, wanted: Callable[[Any], bool]) -> Reader:
    def filtered(current: Any) -> Any:
        base = read(current)
        return [item for item in base if wanted(item)] if isinstance(base, list) else None

    return filtered


def _types_of(name: str) -> Sequence[Mapping[str, Any]]:
    types: Sequence[Mapping[str, Any]] = Functions.FUNCTION_TABLE[name]["signature"]
    return types


def _calling(function: Callable[..., Any], arguments: Sequence[Reader]) -> Reader:
    if len(arguments) == 1:
        (only,) = arguments
        return lambda current: function(only(current))
    one, two = arguments
    return lambda current: function(one(current), two(current))


# --- functions that filters use most ---------------------------------------------------------------


def _contains(subject: Any, search: Any) -> bool:
    if type(subject) is not str and type(subject) is not list:
        raise _unfit("contains", subject)
    return search in subject


def _starts_with(text: Any, prefix: Any) -> bool:
    if type(text) is not str or type(prefix) is not str:
        raise _unfit("starts_with", text, prefix)
    return text.startswith(prefix)


def _ends_with(text: Any, suffix: Any) -> bool:
    if type(text) is not str or type(suffix) is not str:
        raise _unfit("ends_with", text, suffix)
    return text.endswith(suffix)


def _length(subject: Any) -> int:
    if type(subject) not in (str, list, dict):
        raise _unfit("length", subject)
    return len(subject)


def _unfit(function: str, *given: Any) -> TypeError:
    return TypeError(f"{function}() was given {' and '.join(map(_described, given))}")


_QUICK: Mapping[str, Callable[..., Any]] = {
    "contains": _contains,
    "starts_with": _starts_with,
    "ends_with": _ends_with,
    "length": _length,
}


# --- which members an expression depends on --------------------------------------------------------


def _may_read_objects(node: Node) -> bool:
    """Whether the result may depend on all members of an object."""
    if node["type"] == "function_expression":
        return node["value"] in _OF_OBJECTS
    if node["type"] in ("comparator", "in"):
        literals = [one["value"] for one in node["children"] if one["type"] == "literal"]
        if node["type"] == "in":
            literals = [one for each in literals for one in (each if isinstance(each, list) else (each,))]
        return all(isinstance(one, list | dict) for one in literals)
    return bool(node["type"] == "value_projection")


_OF_OBJECTS = frozenset(("keys", "values", "merge", "to_string", "length", "contains"))


def _nodes(parsed: Node) -> Iterator[Node]:
    """All nodes, without recursion."""
    left: list[Any] = [parsed]
    while left:
        node = left.pop()
        if isinstance(node, dict):  # a slice has numbers for children
            yield node
            left.extend(reversed(node["children"]))
