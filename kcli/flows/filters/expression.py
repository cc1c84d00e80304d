"""JMESPath expressions as closures, so that a filter interprets no syntax tree for each record.

``jmespath`` parses: its syntax tree and its errors are the definition. A closure returns what its interpreter returns
for values that JSON can represent, its peculiarities included: strings are ordered, ``[1] == [true]``, 0 is true, and a
mismatched type raises an error. A node without a closure of its own is left to the interpreter. Pure.

The root of an expression is the record. Which of its fields, and which members of its value, an expression uses is
known before the first record is read (``Expression.paths``); a caller needs to provide only these.
"""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kcli.flows.filters.numbers import NUMBERS, Functions, by_value, interpreter, same_number

Node = dict[str, Any]
Reader = Callable[[Any], Any]
"""From the input of an expression to its result; raises TypeError or JMESPathError as ``jmespath`` does."""
Path = tuple[str, ...]
"""Names of members from the record down; empty for the record itself."""
Resolve = Callable[[Path], Reader]

_ORDERED = NUMBERS | {str}
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}


class Expression:
    """A parsed expression without a fault (see ``fault_of``).

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

    def predicate(self, resolve: Resolve) -> Callable[[Any], bool]:
        """Whether the result is true, for records as ``resolve`` reads them: it returns a reader for each path."""
        return _Compiler(resolve).truth(self._parsed)


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

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve

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
            read = chain(read, _INSIDE.value(node))
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
        if node["value"] not in _COMPARISONS:
            equal = _equal_to(read, right["value"]) if right["type"] == "literal" else _equal(read, other)
            return (lambda current: not equal(current)) if node["value"] == "ne" else equal
        compare = _COMPARISONS[node["value"]]
        if right["type"] == "literal" and type(right["value"]) in _ORDERED:
            return _ordered_to(compare, read, right["value"], otherwise)
        return _ordered(compare, read, other, otherwise)

    # --- lists -------------------------------------------------------------------------------------

    def _projection(self, node: Node) -> Reader:
        left, right = node["children"]
        return _projected(self.value(left), _INSIDE.value(right))

    def _filter_projection(self, node: Node) -> Reader:
        left, right, condition = node["children"]
        wanted, read = _INSIDE.truth(condition), self.value(left)
        return _projected(_filtered(read, wanted), _INSIDE.value(right))

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
        if self is not _INSIDE:  # a record is never null
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
        return _constant(interpreter().visit(node, None))

    def _interpreted(self, node: Node) -> Reader:
        here, visit = self._resolve(()), interpreter().visit
        return lambda current: visit(node, here(current))


_INSIDE = _Compiler(follow)


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


def _equal_to(read: Reader, literal: Any) -> Callable[[Any], bool]:
    if literal is None or isinstance(literal, bool):
        return lambda current: read(current) is literal
    kind = type(literal)
    if kind not in NUMBERS:
        return lambda current: read(current) == literal

    def equal(current: Any) -> bool:
        found = read(current)
        return found == literal if type(found) is kind else same_number(found, literal)

    return equal


def _equal(read: Reader, other: Reader) -> Callable[[Any], bool]:
    def equal(current: Any) -> bool:
        one, two = read(current), other(current)
        return one == two if type(one) is type(two) else same_number(one, two)

    return equal


def _ordered_to(compare: Callable[[Any, Any], bool], read: Reader, literal: Any, otherwise: Any) -> Reader:
    kind = type(literal)

    def ordered(current: Any) -> Any:
        found = read(current)
        if type(found) is kind:
            return compare(found, literal)
        return by_value(compare, found, literal) if type(found) in _ORDERED else otherwise

    return ordered


def _ordered(compare: Callable[[Any, Any], bool], read: Reader, other: Reader, otherwise: Any) -> Reader:
    def ordered(current: Any) -> Any:
        one, two = read(current), other(current)
        return by_value(compare, one, two) if type(one) in _ORDERED and type(two) in _ORDERED else otherwise

    return ordered


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


def _calling(function: Callable[..., Any], arguments: Sequence[Reader]) -> Reader:
    if len(arguments) == 1:
        (only,) = arguments
        return lambda current: function(only(current))
    one, two = arguments
    return lambda current: function(one(current), two(current))


# --- functions that filters use most ---------------------------------------------------------------


def _contains(subject: Any, search: Any) -> bool:
    if type(subject) is not str and type(subject) is not list:
        raise TypeError
    return search in subject


def _starts_with(text: Any, prefix: Any) -> bool:
    if type(text) is not str or type(prefix) is not str:
        raise TypeError
    return text.startswith(prefix)


def _ends_with(text: Any, suffix: Any) -> bool:
    if type(text) is not str or type(suffix) is not str:
        raise TypeError
    return text.endswith(suffix)


def _length(subject: Any) -> int:
    if type(subject) not in (str, list, dict):
        raise TypeError
    return len(subject)


_QUICK: Mapping[str, Callable[..., Any]] = {
    "contains": _contains,
    "starts_with": _starts_with,
    "ends_with": _ends_with,
    "length": _length,
}


# --- errors found before the first record ----------------------------------------------------------


def fault_of(parsed: Node) -> str:
    """A function that does not exist or has the wrong number of arguments; empty for a valid expression.

    The interpreter notices this only when it calls the function: for every record again, or for none.
    """
    for node in _nodes(parsed):
        if node["type"] != "function_expression":
            continue
        name, given = node["value"], len(node["children"])
        if name not in Functions.FUNCTION_TABLE:
            return f"there is no function {name}()"
        types = _types_of(name)
        several = bool(types) and types[-1].get("variadic", False)
        if given < len(types) if several else given != len(types):
            wanted = f"{'at least ' if several else ''}{len(types)}"
            return f"{name}() expects {wanted} argument{'' if len(types) == 1 else 's'}, not {given}"
    return ""


def _may_read_objects(node: Node) -> bool:
    """Whether the result may depend on all members of an object."""
    if node["type"] == "function_expression":
        return node["value"] in _OF_OBJECTS
    if node["type"] == "comparator":
        literals = [one["value"] for one in node["children"] if one["type"] == "literal"]
        return all(isinstance(one, list | dict) for one in literals)
    return bool(node["type"] == "value_projection")


_OF_OBJECTS = frozenset(("keys", "values", "merge", "to_string", "length", "contains"))


def _types_of(name: str) -> Sequence[Mapping[str, Any]]:
    types: Sequence[Mapping[str, Any]] = Functions.FUNCTION_TABLE[name]["signature"]
    return types


def _nodes(parsed: Node) -> Iterator[Node]:
    """All nodes, without recursion."""
    left: list[Any] = [parsed]
    while left:
        node = left.pop()
        if isinstance(node, dict):  # a slice has numbers for children
            yield node
            left.extend(reversed(node["children"]))
