"""``--policy FILE``: rules for what documents describe, in the language of ``--where``, judged before anything is sent.

A file is a list of ``{kind, rule, message}``. A rule is about ``{kind, metadata: {name}, spec}`` of each resource of that
kind, of every one without ``kind``. In ``spec.config`` a value that is a number, true or false is one, as it was written.
A rule that cannot be judged, as one that compares a number with text, is broken. Pure, but for the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from jmespath.exceptions import JMESPathError

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.files.yaml_nodes import Items, Scalar, YamlError, yaml_documents
from kcli.flows.filters.expression import Expression, UnlikeError, follow
from kcli.flows.filters.grammar import TEXT, Root, parse
from kcli.flows.filters.tokens import WhereError
from kcli.flows.resources.faults import Fault, FilesError, place_text
from kcli.flows.resources.resource import Kind, Place, Resource, nearest_place
from kcli.flows.resources.scalars import Sort, meaning_of
from kcli.flows.resources.shapes import Choice, Document, Field, Path, Record, Text
from kcli.flows.resources.sources import read_text
from kcli.output.progress import counted

_TYPES: Mapping[str, str | None] = {"kind": TEXT, "metadata": None, "spec": None}
_ROOT = Root("document", "spec", "the spec")
_RULE = Record(
    {
        "kind": Field(Choice(map(str, Kind))),
        "rule": Field(Text("an expression"), "as in spec.partitions <= 100", needed=True),
        "message": Field(Text(), "what people read where it is false", needed=True),
    }
)
_HELP = "`kcli help filters` has the language"


class Rule(NamedTuple):
    """``kind``: None for every kind. ``holds`` judges a document: empty text where it does, else why not. ``parts``: the
    parts of the spec that it is about.
    """

    text: str
    message: str
    kind: Kind | None
    place: Place
    holds: Callable[[Mapping[str, Any]], str]
    parts: Sequence[tuple[str, ...]]


class Broken(NamedTuple):
    """A rule that a resource breaks, at the place of the part that the rule is about."""

    rule: Rule
    resource: Resource
    place: Place
    why: str

    def __str__(self) -> str:
        return f"{place_text(self.place)}: {self.resource.ref}: {self.rule.message}"

    @property
    def error(self) -> PolicyError:
        """The error for people."""
        return PolicyError(str(self), why=f"{self.why} ({place_text(self.rule.place)})")


class PolicyError(KcliError):
    """What files describe breaks rules."""

    exit_code = ExitCode.CHECK


def read_policies(paths: Iterable[str]) -> list[Rule]:
    """The rules of files; FilesError has all that is wrong with them."""
    rules: list[Rule] = []
    faults: list[Fault] = []
    for path in paths:
        source = read_text(path)
        if isinstance(source, Fault):
            faults.append(source)
            continue
        repeated: list[YamlError] = []
        try:
            for node in yaml_documents(source.text, repeated):
                if not (isinstance(node, Scalar) and meaning_of(node.text).sort is Sort.EMPTY):
                    rules += _rules(Document(source.name, node, None, faults))
        except YamlError as error:
            repeated.append(error)
        faults += [Fault(Place(source.name, e.line, e.column), e.why, do=e.do) for e in repeated]
    if faults:
        raise FilesError(faults)
    return rules


def broken_rules(rules: Iterable[Rule], resources: Sequence[Resource]) -> list[Broken]:
    """All that is broken, in the order of the resources."""
    by_kind: dict[Kind, list[Rule]] = {kind: [] for kind in Kind}
    for rule in rules:
        for kind in Kind if rule.kind is None else (rule.kind,):
            by_kind[kind].append(rule)
    found = []
    for resource in resources:
        asked = by_kind[resource.ref.kind]
        judged = _judged(resource) if asked else {}
        for rule in asked:
            why = rule.holds(judged)
            if why:
                found.append(Broken(rule, resource, _place(rule, resource), why))
    return found


def policy_error(broken: Sequence[Broken]) -> PolicyError:
    """All of it as one error."""
    if len(broken) == 1:
        return broken[0].error
    names = {one.resource.ref for one in broken}
    error = PolicyError(
        f"{counted(len(names), 'resource')} break{'s' if len(names) == 1 else ''} {counted(len(broken), 'rule')}",
        why="nothing was sent",
    )
    error.each = tuple(one.error for one in broken)
    return error


def _rules(document: Document) -> list[Rule]:
    if not isinstance(document.node, Items):
        document.fault((), "a file of rules is a list", do="as in - {kind: Topic, rule: …, message: …}")
        return []
    made = []
    for number, node in enumerate(document.node.items, 1):
        path = ("rules", str(number))
        document.places[path] = Place(document.file, node.line, node.column)
        row = _RULE.read(node, path, document)
        if row and row.get("rule"):
            made.append(_rule(path, row, document))
    return [] if document.is_bad else [rule for rule in made if rule is not None]


def _rule(path: Path, row: Mapping[str, str], document: Document) -> Rule | None:
    text, kind, at = row["rule"], row.get("kind"), (*path, "rule")
    try:
        parsed = parse(text, _TYPES, _no_time, _ROOT)
    except WhereError as error:
        document.fault(
            at, f"the rule {text!r} is not valid at its column {error.column}", error.why, error.do or _HELP
        )
        return None
    except RecursionError:
        document.fault(at, f"the rule {text!r} is not valid", "it is nested too deeply")
        return None

    expression = Expression(parsed.tree)
    unlike: list[UnlikeError] = []

    def differ(error: UnlikeError) -> bool:
        unlike.append(error)
        return False

    judge = expression.predicate(follow, differ)

    def holds(judged: Mapping[str, Any]) -> str:
        unlike.clear()
        try:
            held = judge(judged)
        except (TypeError, JMESPathError) as error:
            return f"the rule {text} cannot be judged: {' '.join(str(error).split())}"
        if unlike:
            return f"the rule {text} cannot be judged: {unlike[0]}, and they are never equal"
        return "" if held else f"the rule {text} is false"

    parts = [path[1:] for path in expression.paths if path[:1] == ("spec",)]
    return Rule(
        text, row.get("message", ""), None if kind is None else Kind(kind), document.place(at), holds, parts
    )


def _no_time(text: str) -> NoReturn:
    raise ValueError(f"{text!r}: a document has no times")


def _judged(resource: Resource) -> dict[str, Any]:
    spec = {key: _with_text_keys(value) for key, value in resource.spec.items()}
    if "config" in spec:
        spec["config"] = {key: _as_written(text) for key, text in resource.spec["config"].items()}
    return {"kind": str(resource.ref.kind), "metadata": {"name": resource.ref.name}, "spec": spec}


def _as_written(text: str) -> Any:
    meaning = meaning_of(text)
    return meaning.value if meaning.sort in (Sort.TRUTH, Sort.WHOLE, Sort.NUMBER) else text


def _with_text_keys(value: Any) -> Any:
    """JMESPath knows text as keys only; partitions are numbers."""
    if isinstance(value, Mapping):
        return {str(key): _with_text_keys(inner) for key, inner in value.items()}
    return value


def _place(rule: Rule, resource: Resource) -> Place:
    found = (nearest_place(resource, path) for path in rule.parts)
    return next((place for place in found if place != resource.place), resource.place)
