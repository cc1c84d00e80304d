"""The language of ``--where``: JMESPath, and what people write in other languages. Text to the syntax tree of
``jmespath``.

An expression that is JMESPath has the tree that ``jmespath.parser`` makes of it, so its meaning. What JMESPath refuses
is free for more: numbers without backticks, ``and``, ``or``, ``not`` between operands, ``=~``, ``in``. ``true``,
``false``, ``null`` and text in double quotes are names in JMESPath. A record has seven fields of fixed names, so where
these are looked up (``at_root``) every other name is null for each record, and is a literal instead; after a dot and
inside ``[?…]``, ``| …`` and ``&…`` it is the name of a member, as ever. Two nodes are not of ``jmespath``: ``in``
and ``match``, and comparators have their ``text``.

The fields, headers, comparisons and lists have types that are known before a record is read. A comparison with a
literal of another type can never hold and is an error, and text that is compared with ``timestamp`` is a time, null none.
What is the same for each record is an error where a field in double quotes or a second comparison was meant. Pure:
``instant`` reads times.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jmespath.functions import Functions

from kcli.core.classes import NamedTuple
from kcli.core.near_names import near_names
from kcli.flows.filters.tokens import (
    OPERATOR,
    QUOTES,
    Token,
    WhereError,
    json_of,
    literal_number,
    text_of,
    tokens,
)

Node = dict[str, Any]

NUMBER, TEXT = "a number", "text"
_BOOLEAN, _LIST = "true or false", "a list"

_COMPARATORS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
_WORDS = {"true": True, "false": False, "null": None}
_OR, _AND, _NOT, _COMPARISON = 2, 3, 4, 5
_PROJECTION_ENDS, _STAR, _FILTER, _DOT, _BANG = 10, 20, 21, 40, 45
_POWERS = {
    "|": 1,
    "||": _OR,
    "or": _OR,
    "&&": _AND,
    "and": _AND,
    **dict.fromkeys((*_COMPARATORS, "=~", "in"), _COMPARISON),
    "[]": 9,
    "*": _STAR,
    "[?": _FILTER,
    ".": _DOT,
    "!": _BANG,
    "{": 50,
    "[": 55,
    "(": 60,
}
"""How tightly an operator binds the operand before it; those of jmespath, which decide what a projection covers."""
_RESULTS = {
    **dict.fromkeys(("abs", "avg", "ceil", "floor", "length", "sum", "to_number"), NUMBER),
    **dict.fromkeys(("join", "to_string", "type"), TEXT),
    **dict.fromkeys(("contains", "ends_with", "starts_with"), _BOOLEAN),
}
_KINDS = {
    **dict.fromkeys(("comparator", "in", "match", "not_expression"), _BOOLEAN),
    **dict.fromkeys(("projection", "value_projection", "filter_projection"), _LIST),
}
_AS_REGEX = "text is matched with =~ 'REGEX', as in key =~ '^k[0-9]'"
_OTHER_LANGUAGES = {
    **dict.fromkeys(("and", "or", "in", "not"), "and, or, not and in are written in small letters"),
    **dict.fromkeys(("is", "isnull"), "null is compared with == and !=, as in value.a == null"),
    **dict.fromkeys(("like", "ilike", "rlike", "regexp", "matches"), _AS_REGEX),
    "between": "both ends are compared, as in value.a >= 1 and value.a <= 9",
    "contains": "contains(value.a, 'b') is for text and lists",
}
"""Operators of other languages, by their words in small letters, and what to write."""
_OTHER_WORDS = {
    **dict.fromkeys(("null", "none", "nil", "undefined"), "what is missing is null: value.a == null"),
    **dict.fromkeys(("true", "false"), "true and false are written in small letters"),
    "not": _OTHER_LANGUAGES["not"],
}
_IN_SECONDS = range(10**9, 10**10)
"""Times that are more likely seconds of these years than milliseconds of January 1970."""
_VALUE = "a field, a number, or text in single quotes"
_SEVERAL = "two comparisons are joined by and: value.a > 1 and value.a < 9; not negates one: not value.a == 1"
_ELEMENTS = "those that match are value.items[?price > 5], and one element is value.items[0]"
_EACH = "each condition is a comparison of its own: value.a == 1 or value.a == 2; or value.a in (1, 2)"
_QUOTED_PATH = re.compile(r'"(([a-z]+)(?:\.[A-Za-z_][A-Za-z0-9_]*)+)"')


class Parsed(NamedTuple):
    """``notes`` are sentences on what may be meant otherwise than it is read."""

    tree: Node
    notes: tuple[str, ...]


class Root(NamedTuple):
    """What an expression is about. ``field``: the one whose members people look for; ``holder``: what it is."""

    noun: str
    field: str
    holder: str


RECORD = Root("record", "value", "a JSON value")


def parse(
    text: str, types: Mapping[str, str | None], instant: Callable[[str], int], root: Root = RECORD
) -> Parsed:
    """``types`` are the fields of a record, with NUMBER or TEXT for those that have no other type. Raises WhereError, and
    RecursionError for deep nesting. ``instant`` raises ValueError for what is no time.
    """
    parser = _Parser(text, types, instant, root)
    tree = parser.whole()
    return Parsed(tree, tuple(parser.notes))


class _Parser:
    """Top-down operator precedence; a method for each construct. ``_at`` is the current token."""

    def __init__(
        self, text: str, types: Mapping[str, str | None], instant: Callable[[str], int], root: Root
    ) -> None:
        self._text = text
        self._root = root
        self._types = types
        self._instant = instant
        self._tokens = tokens(text)
        self._at = 0
        self._at_root = True
        self.notes: list[str] = []

    def whole(self) -> Node:
        """The tree of the whole text."""
        tree = self._expression()
        if self._here.kind != "end":
            raise self._expected(OPERATOR)
        self._check_condition(tree)
        return tree

    # --- tokens ------------------------------------------------------------------------------------

    @property
    def _here(self) -> Token:
        return self._tokens[self._at]

    @property
    def _next(self) -> Token:
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    def _take(self) -> Token:
        token = self._here
        self._at += token.kind != "end"
        return token

    def _match(self, sign: str) -> None:
        if not self._here.is_sign(sign):
            raise self._expected(repr(sign))
        self._at += 1

    def _expected(self, what: str) -> WhereError:
        here, before = self._here, self._tokens[self._at - 1]
        unquoted = before[::3] == ("number", here.start) and (
            here.kind in ("name", "number") or here.is_sign(":")
        )
        do = QUOTES if unquoted else ""
        if here.kind == "name":
            do = _OTHER_LANGUAGES.get(here.text.lower(), do)
        elif here.is_sign(">") and before.is_sign("<"):
            do = "unequal is written !="
        return WhereError(here.start + 1, f"expected {what}, not {here}", do)

    def _power(self) -> int:
        here = self._here
        if here.kind == "name":
            text = "in" if here.text == "not" and self._next[:2] == ("name", "in") else here.text
            return _POWERS[text] if text in ("and", "or", "in") else 0
        return _POWERS.get(here.text, 0) if here.kind == "sign" else 0

    # --- expressions -------------------------------------------------------------------------------

    def _expression(self, power: int = 0) -> Node:
        start = self._at
        return self._extended(self._operand(), start, power)

    def _extended(self, left: Node, start: int, power: int) -> Node:
        """``left``, which begins at the token ``start``, with the operators that bind tighter than ``power``."""
        while power < self._power():
            left = self._operation(left, start)
        return left

    def _inside(self, parse: Callable[[], Node]) -> Node:
        """What is not applied to the record itself."""
        outside, self._at_root = self._at_root, False
        try:
            return parse()
        finally:
            self._at_root = outside

    def _operand(self) -> Node:
        token = self._take()
        match token.kind, token.text:
            case "number", text:
                return _literal(literal_number(text), token.start)
            case "raw", text:
                return _literal(text[1:-1].replace("\\'", "'"), token.start)
            case "json", text:
                return _literal(json_of(token))
            case "quoted", _:
                return self._quoted(token)
            case "name", _:
                return self._named(token)
            case "sign", "(":
                inner = self._expression()
                self._match(")")
                return inner
            case "sign", "!":
                return _node("not_expression", self._expression(_BANG))
            case "sign", "@":
                return _node("current")
            case "sign", "&":
                return _node("expref", self._inside(self._expression))
            case "sign", "*":
                right = _node("identity") if self._here.is_sign("]") else self._projected(_STAR)
                return _node("value_projection", _node("identity"), right)
            case "sign", "[?":
                return self._filter(_node("identity"))
            case "sign", "[]":
                return _node(
                    "projection", _node("flatten", _node("identity")), self._projected(_POWERS["[]"])
                )
            case "sign", "[":
                return self._bracket()
            case "sign", "{":
                return self._hash()
        self._at -= token.kind != "end"
        raise self._expected(_VALUE)

    def _quoted(self, token: Token) -> Node:
        """A name, or at the root text unless it is the name of a field or a path begins with it."""
        text = text_of(token)
        if self._here.is_sign("("):
            raise WhereError(token.start + 1, "expected the name of a function, which has no quotes")
        if self._at_root and text not in self._types:
            return self._unless_path(token, _literal(text, token.start))
        return {**_field(text), "quoted": token.start}

    def _named(self, token: Token) -> Node:
        here, text = self._here, token.text
        begins = here.kind not in ("sign", "end") or here.is_sign("(", "@", "!", "{", "*", "&")
        call_of_not = here.is_sign("(") and self._next.is_sign(")")
        if text == "not" and begins and not call_of_not:
            return _node("not_expression", self._expression(_NOT))
        if text in _WORDS and not here.is_sign("("):
            if self._at_root:
                return self._unless_path(token, _literal(_WORDS[text]))
            return {**_field(text), "word": True}
        if self._at_root and text not in self._types and not here.is_sign("("):
            raise self._no_field(token)
        return _field(text)

    def _unless_path(self, token: Token, literal: Node) -> Node:
        """A literal has no members: what looks them up takes it for a field."""
        if self._here.is_sign(".", "[", "[?", "[]"):
            raise self._no_field(token)
        return literal

    def _no_field(self, token: Token) -> WhereError:
        fields = ", ".join(self._types)
        return WhereError(
            token.start + 1,
            f"a {self._root.noun} has no field {token.text}; it has {fields}",
            _OTHER_WORDS.get(token.text.lower())
            or f"a member of {self._root.holder} is {self._root.field}.{token.text}, "
            f"text is '{token.text.strip(chr(34))}'",
        )

    def _operation(self, left: Node, start: int) -> Node:
        token = self._take()
        match token.text:
            case ".":
                return self._dotted(left)
            case "|":
                return _node("pipe", left, self._inside(lambda: self._expression(_POWERS["|"])))
            case "||" | "or":
                return _node("or_expression", left, self._expression(_OR))
            case "&&" | "and":
                return _node("and_expression", left, self._expression(_AND))
            case "(":
                return self._call(left, start)
            case "[?":
                return self._filter(left)
            case "[]":
                return _node("projection", _node("flatten", left), self._projected(_POWERS["[]"]))
            case "[":
                return self._indexed(left)
            case "=~":
                return self._matched(left, start)
            case "in":
                return self._contained(left, start)
            case "not":
                self._take()
                return _node("not_expression", self._contained(left, start))
            case sign if sign in _COMPARATORS:
                return self._compared(_COMPARATORS[sign], left, start)
        self._at -= 1
        raise self._expected(OPERATOR)

    # --- paths and projections ---------------------------------------------------------------------

    def _dotted(self, left: Node) -> Node:
        if left["type"] == "not_expression":
            at = self._tokens[self._at - 1].start
            self._note(
                at, "! binds tighter than a dot, and true and false have no members; write not value.a"
            )
        if self._here.is_sign("*"):
            self._at += 1
            return _node("value_projection", left, self._projected(_DOT))
        right = self._after_dot(_DOT)
        if left["type"] == "subexpression":
            left["children"].append(right)
            return left
        return _node("subexpression", left, right)

    def _after_dot(self, power: int) -> Node:
        token, start = self._here, self._at
        if token.kind in ("name", "quoted"):
            self._at += 1
            if token.kind == "quoted" and self._here.is_sign("("):
                raise WhereError(token.start + 1, "expected the name of a function, which has no quotes")
            name = _field(token.text if token.kind == "name" else text_of(token))
            return self._inside(lambda: self._extended(name, start, power))
        if token.is_sign("*"):
            return self._inside(lambda: self._expression(power))
        if token.is_sign("["):
            self._at += 1
            return self._inside(lambda: self._list(of_names=True))
        if token.is_sign("{"):
            self._at += 1
            return self._inside(self._hash)
        raise self._expected("a name after the dot")

    def _projected(self, power: int) -> Node:
        """What is applied to each element of a projection."""
        if self._power() < _PROJECTION_ENDS:
            return _node("identity")
        if self._here.is_sign("[", "[?"):
            return self._inside(lambda: self._expression(power))
        if self._here.is_sign("."):
            self._at += 1
            return self._after_dot(power)
        raise self._expected("a dot, a bracket or an operator")

    def _filter(self, left: Node) -> Node:
        condition = self._inside(self._expression)
        self._match("]")
        right = _node("identity") if self._here.is_sign("[]") else self._projected(_FILTER)
        return _node("filter_projection", left, right, condition)

    def _bracket(self) -> Node:
        """``[`` where an operand begins: an index or a slice of the current value, a projection, or a list."""
        if self._here.is_sign("*") and self._next.is_sign("]"):
            self._at += 2
            return _node("projection", _node("identity"), self._projected(_STAR))
        if self._here.is_sign(":") or (self._here.kind == "number" and self._is_index()):
            return self._with_slice(_node("identity"), self._index())
        return self._list()

    def _is_index(self) -> bool:
        """Not for a list of numbers. A record is no list, so at the root there is no index either."""
        return self._next.is_sign(":") or (self._next.is_sign("]") and not self._at_root)

    def _indexed(self, left: Node) -> Node:
        if self._here.is_sign("*"):
            self._at += 1
            self._match("]")
            return _node("projection", left, self._projected(_STAR))
        if not (self._here.kind == "number" or self._here.is_sign(":")):
            error = self._expected("an index, a slice, * or ?")
            if self._here.kind in ("raw", "quoted"):
                error.do = f'a member is named after a dot: value."{self._here.text[1:-1]}"'
            raise error
        right = self._index()
        if left["type"] == "index_expression":
            left["children"].append(right)
            return left
        return self._with_slice(left, right)

    def _with_slice(self, left: Node, right: Node) -> Node:
        indexed = _node("index_expression", left, right)
        return _node("projection", indexed, self._projected(_STAR)) if right["type"] == "slice" else indexed

    def _index(self) -> Node:
        if not (self._here.is_sign(":") or self._next.is_sign(":")):
            index = self._whole_number()
            self._match("]")
            return {"type": "index", "value": index, "children": []}
        parts: list[int | None] = [None, None, None]
        place = 0
        while not self._here.is_sign("]"):
            if not self._here.is_sign(":"):
                parts[place] = self._whole_number()
            elif place == 2:
                raise self._expected("']'")
            else:
                place += 1
                self._at += 1
        self._at += 1
        return {"type": "slice", "children": parts}

    def _whole_number(self) -> int:
        if not re.fullmatch("-?[0-9]+", self._here.text):
            raise self._expected("a whole number")
        return int(self._take().text)

    # --- lists, objects, functions -----------------------------------------------------------------

    def _list(self, *, of_names: bool = False) -> Node:
        """``of_names``: after a dot, where JMESPath takes ``[0]`` for a mistaken index."""
        items: list[Node] = []
        while not (items and self._here.is_sign("]")):
            if items:
                self._match(",")
            if of_names and self._here.kind == "number":
                raise self._expected("the name of a member; an index has no dot before it")
            items.append(self._expression())
        self._at += 1
        return _node("multi_select_list", *items)

    def _hash(self) -> Node:
        pairs: list[Node] = []
        while True:
            token = self._here
            if token.kind not in ("name", "quoted"):
                raise self._expected("the name of a member")
            self._at += 1
            self._match(":")
            name = token.text if token.kind == "name" else text_of(token)
            pairs.append({"type": "key_val_pair", "children": [self._expression()], "value": name})
            if self._here.is_sign(","):
                self._at += 1
            elif self._here.is_sign("}"):
                self._at += 1
                return _node("multi_select_dict", *pairs)

    def _call(self, function: Node, start: int) -> Node:
        token = self._tokens[start]
        if function["type"] != "field" or token.kind != "name":
            raise WhereError(self._tokens[self._at - 1].start + 1, f"expected {OPERATOR}, not '('")
        arguments = []
        while not self._here.is_sign(")"):
            arguments.append(self._expression())
            if self._here.is_sign(","):
                self._at += 1
            elif self._here.kind == "end":
                raise self._expected("')'")
        self._at += 1
        name = function["value"]
        if fault := _fault_of_call(name, len(arguments)):
            near = near_names(name, Functions.FUNCTION_TABLE) if name not in Functions.FUNCTION_TABLE else ()
            raise WhereError(token.start + 1, fault, f"did you mean {near[0]}()?" if near else "")
        self._refuse_literals(*arguments)
        return {"type": "function_expression", "children": arguments, "value": name}

    # --- comparisons -------------------------------------------------------------------------------

    def _compared(self, comparator: str, left: Node, start: int) -> Node:
        middle = self._at
        right = self._expression(_COMPARISON)
        if self._is_timestamp(left):
            right = self._as_time(right, middle)
        elif self._is_timestamp(right):
            left = self._as_time(left, start)
        self._check(left, right, middle if right["type"] == "literal" else start)
        self._remark(right)
        children = [self._value_of_word(left), self._value_of_word(right)]
        return {"type": "comparator", "children": children, "value": comparator, "text": self._said(start)}

    def _matched(self, left: Node, start: int) -> Node:
        token, at = self._here, self._at
        pattern = self._expression(_COMPARISON)
        if pattern["type"] != "literal" or not isinstance(pattern["value"], str):
            raise WhereError(
                token.start + 1, "expected a regular expression in single quotes", "as in key =~ '^k[0-9]'"
            )
        try:
            re.compile(pattern["value"])
        except re.error as error:
            raise WhereError(token.start + 1, f"expected a regular expression: {error}") from None
        self._check(left, pattern, at)
        return {"type": "match", "children": [left], "value": pattern["value"], "text": self._said(start)}

    def _contained(self, left: Node, start: int) -> Node:
        if self._here.is_sign("("):
            right = self._alternatives(left)
        else:
            at = self._at
            right = self._expression(_COMPARISON)
            if right["type"] == "multi_select_list":
                right = _folded(right["children"])
            elif self._kind(right) is not None or right["type"] == "literal":
                raise WhereError(self._tokens[at].start + 1, "expected a list", "as in key in ('a', 'b')")
        return {"type": "in", "children": [left, right], "text": self._said(start)}

    def _alternatives(self, left: Node) -> Node:
        """The list in parentheses; parentheses around a path alone are only that."""
        self._at += 1
        items = []
        while True:
            at = self._at
            item = self._expression()
            item = self._as_time(item, at) if self._is_timestamp(left) else item
            self._check(left, item, at)
            self._remark(item)
            items.append(self._value_of_word(item))
            if self._here.is_sign(")"):
                break
            self._match(",")
        self._at += 1
        return items[0] if len(items) == 1 and items[0]["type"] != "literal" else _folded(items)

    def _is_timestamp(self, node: Node) -> bool:
        return self._at_root and node["type"] == "field" and node["value"] == "timestamp"

    def _as_time(self, node: Node, at: int) -> Node:
        """Text as the time that it names, null as Kafka's -1: a record without a timestamp."""
        if node["type"] != "literal":
            return node
        value = node["value"]
        if value is None:
            return _literal(-1)
        if type(value) is int and node["start"] is not None and value in _IN_SECONDS:
            self._note(node["start"], f"{value} is ms, in 1970; '{value}' in quotes is read by its digits")
        if not isinstance(value, str):
            return node
        try:
            return _literal(self._instant(value))
        except ValueError as error:
            raise WhereError(
                self._tokens[at].start + 1, f"expected a time: {error}", "`kcli help times` lists them"
            ) from None

    def _check_condition(self, tree: Node) -> None:
        """Refuses text, a number or an object of literals where truth decides: it is true for each record. Text in single
        quotes is JMESPath, and noted.
        """
        left = [tree]  # without recursion, since chains may be very long
        while left:
            node = left.pop()
            if node["type"] in ("or_expression", "and_expression", "not_expression"):
                left += reversed(node["children"])
            elif (at := _start_of_literals(node)) is not None:
                always = f"this is true for every {self._root.noun}"
                if self._text[at] != "'":
                    raise WhereError(at + 1, f"expected a condition: {always}", self._of_quoted(at) or _EACH)
                self._note(at, f"{always}; {_EACH}")

    def _refuse_literals(self, *operands: Node) -> None:
        """Refuses text in double quotes where nothing else is of a record."""
        starts = [_start_of_literals(one) if one["type"] == "literal" else None for one in operands]
        quoted = [at for at in starts if at is not None and self._text[at] == '"']
        if quoted and all(one["type"] == "literal" for one in operands):
            at = quoted[0]
            raise WhereError(
                at + 1, "expected a field: text in double quotes is not one", self._of_quoted(at)
            )

    def _of_quoted(self, at: int) -> str:
        """What to write instead of ``"value.a"``."""
        found = _QUOTED_PATH.match(self._text, at)
        return f"a field is written without quotes: {found[1]}" if found and found[2] in self._types else ""

    def _check(self, left: Node, right: Node, at: int) -> None:
        """Refuses a comparison of a number with text, if the types are known: neither is ever equal or more."""
        if self._at_root:
            self._refuse_literals(left, right)
        kinds = self._kind(left), self._kind(right)
        if None in kinds or kinds[0] == kinds[1] or left["type"] == right["type"] == "literal":
            return
        if _LIST in kinds or _BOOLEAN in kinds:
            one, other = kinds
            what = f"{one} and {other} are never equal and have no order"
            self._note(self._tokens[at].start, f"{what}; {_ELEMENTS if _LIST in kinds else _SEVERAL}")
            return
        literal, known = (right, kinds[0]) if right["type"] == "literal" else (left, kinds[1])
        value = literal.get("value")
        do = "to_number(…) makes a number of text, to_string(…) text of a number"
        if literal["type"] == "literal" and known == TEXT:
            do = f"write '{value}', or apply to_number(…) to the text"
        elif literal["type"] == "literal" and re.fullmatch("-?[0-9]+", str(value)):
            do = f"write {value}, without quotes"
        raise WhereError(
            self._tokens[at].start + 1,
            f"expected {'a number' if known == NUMBER else 'text'}: a number and text are never equal and have no order",
            do,
        )

    def _kind(self, node: Node) -> str | None:
        """NUMBER or TEXT, where no record can have another type there but null."""
        value = node.get("value")
        if node["type"] == "literal":
            if isinstance(value, list | dict | None):
                return None
            return TEXT if isinstance(value, str) else _BOOLEAN if isinstance(value, bool) else NUMBER
        if node["type"] == "function_expression":
            return _RESULTS.get(str(value))
        if not self._at_root:
            return None
        last = node["children"][-1] if node["type"] == "subexpression" else node
        if last["type"] in _KINDS:
            return _KINDS[last["type"]]
        if node["type"] == "field":
            return self._types.get(str(value))
        names = [child.get("value") for child in node["children"] if child["type"] == "field"]
        return TEXT if node["type"] == "subexpression" and len(names) == 2 and names[0] == "headers" else None

    def _value_of_word(self, node: Node) -> Node:
        """``true`` in ``[?ok == true]``: the member of that name, as in JMESPath, and the value where there is none."""
        if "word" not in node:
            return node
        value = _literal(_WORDS[node["value"]])
        return {
            "type": "function_expression",
            "children": [_field(node["value"]), value],
            "value": "not_null",
        }

    def _remark(self, node: Node) -> None:
        """Notes what a name in double quotes is, where text may have been meant."""
        if "quoted" in node:
            name = node["value"]
            what = f"the field {name} of the record" if self._at_root else f"the member {name} there"
            self._note(node["quoted"], f"\"{name}\" is {what}; text is in single quotes: '{name}'")

    def _note(self, at: int, what: str) -> None:
        self.notes.append(f"--where at column {at + 1}: {what}")

    def _said(self, start: int) -> str:
        return self._text[self._tokens[start].start : self._tokens[self._at - 1].stop]


def _node(kind: str, *children: Node) -> Node:
    return {"type": kind, "children": list(children)}


def _field(name: str) -> Node:
    return {"type": "field", "children": [], "value": name}


def _literal(value: Any, start: int | None = None) -> Node:
    """``start`` is where text or a number stands, which is true wherever truth decides."""
    return {"type": "literal", "value": value, "children": [], "start": start}


def _start_of_literals(node: Node) -> int | None:
    """Where text, a number, or an object or list of nothing else begins."""
    if node["type"] in ("multi_select_dict", "multi_select_list", "key_val_pair"):
        starts = [_start_of_literals(child) for child in node["children"]]
        return None if None in starts else starts[0]
    return node["start"] if node["type"] == "literal" and node["value"] != "" else None


def _folded(items: Sequence[Node]) -> Node:
    """A list whose values are known is a literal."""
    if all(item["type"] == "literal" for item in items):
        return _literal([item["value"] for item in items])
    return _node("multi_select_list", *items)


def _fault_of_call(name: str, given: int) -> str:
    """A function that does not exist or has the wrong number of arguments; the interpreter notices it only when it calls
    the function: for every record again, or for none.
    """
    if name not in Functions.FUNCTION_TABLE:
        return f"there is no function {name}()"
    types = Functions.FUNCTION_TABLE[name]["signature"]
    several = bool(types) and types[-1].get("variadic", False)
    if given < len(types) if several else given != len(types):
        wanted = f"{'at least ' if several else ''}{len(types)}"
        return f"{name}() expects {wanted} argument{'' if len(types) == 1 else 's'}, not {given}"
    return ""
