"""``${NAME}``, ``${NAME:-default}`` and ``$${`` in the scalars of documents.

They are replaced after YAML was parsed, so that a value is never more than the text of one scalar; without quotes the
text has the meaning that it would have there, ``partitions: ${N}`` is a number. As in a shell, the default is for a name
that is not set, or empty. Pure, but for ``read_values``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kcli.files.yaml_nodes import Pairs, Scalar, YamlError, yaml_documents
from kcli.flows.resources.faults import Fault
from kcli.flows.resources.resource import Place
from kcli.flows.resources.sources import read_text

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_FOUND = re.compile(r"\$\$\{|\$\{(?:(" + _NAME + r")(:-[^{}]*)?\})?")
EXAMPLE = "a variable is ${NAME} or ${NAME:-default}, and ${ itself is written $${"
PATTERN = r"\$\{" + _NAME + r"(:-[^{}]*)?\}"
"""A variable, for the schema of what is no text."""
ALONE = re.compile(PATTERN)


class Variables:
    """``values`` win over ``environment``. ``missing``: names without a value, with the places where they are wanted."""

    def __init__(self, values: Mapping[str, str], environment: Mapping[str, str]) -> None:
        self._values, self._environment = values, environment
        self.missing: dict[str, list[Place]] = {}

    def filled(self, text: str, place: Place) -> str | None:
        """``text`` with its variables replaced; None if one is missing. ValueError with a sentence for what is none."""
        complete = True

        def value(found: re.Match[str]) -> str:
            name, default = found.groups()
            if found[0] == "$${":
                return "${"
            if name is None:
                raise ValueError(f"{text[found.start() : found.start() + 20]!r} is no variable")
            known = self._values.get(name, self._environment.get(name))
            if known or (known is not None and default is None):
                return known
            if default is not None:
                return default[2:]
            nonlocal complete
            complete = False
            self.missing.setdefault(name, []).append(place)
            return ""

        replaced = _FOUND.sub(value, text)
        return replaced if complete else None

    def faults(self, files: Iterable[str]) -> list[Fault]:
        """One for each name that is missing, at its first place; ``files`` have the values."""
        where = " and ".join(("the environment", *files))
        return [
            Fault(
                min(places),
                f"the variable {name} has no value",
                f"{where} lack{'' if files else 's'} it"
                + (f"; it is wanted in {len(places) - 1} more places" if len(places) > 1 else ""),
                f"set it in the environment or in --values FILE, or give it a default: ${{{name}:-…}}",
            )
            for name, places in self.missing.items()
        ]


def read_values(paths: Iterable[str]) -> tuple[dict[str, str], list[Fault]]:
    """The names of the files of ``--values``, of which a later one wins; and what is wrong with them. Their values do not
    appear in errors.
    """
    values: dict[str, str] = {}
    faults: list[Fault] = []
    for path in paths:
        source = read_text(path)
        if isinstance(source, Fault):
            faults.append(source)
            continue
        try:
            repeated: list[YamlError] = []
            for node in yaml_documents(source.text, repeated):
                if isinstance(node, Pairs):
                    _add(source.name, node, values, faults)
                elif not isinstance(node, Scalar) or node.text:
                    faults.append(_not_names(source.name, node.line, node.column))
            faults += [Fault(Place(source.name, e.line, e.column), e.why, do=e.do) for e in repeated]
        except YamlError as error:
            faults.append(Fault(Place(source.name, error.line, error.column), error.why, do=error.do))
    return values, faults


def _add(file: str, node: Pairs, values: dict[str, str], faults: list[Fault]) -> None:
    for key, value in node.pairs:
        place = Place(file, key.line, key.column)
        if not re.fullmatch(_NAME, key.text):
            faults.append(
                Fault(place, f"{key.text!r} is no name of a variable", do="a name has letters, digits and _")
            )
        elif not isinstance(value, Scalar):
            faults.append(
                Fault(place, f"{key.text} has no single value", do="a variable is text or a number")
            )
        else:
            is_empty = value.is_plain and value.text in ("~", "null")
            values[key.text] = "" if is_empty else value.text


def _not_names(file: str, line: int, column: int) -> Fault:
    return Fault(
        Place(file, line, column), "a file of values is a mapping of names to values", do="as in NAME: value"
    )
