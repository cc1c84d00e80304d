"""Differences of a resource as the lines of a unified diff of its document. Pure.

Both sides are the document of the file: the one of the cluster has, where they differ, what is there. So what means the
same is never shown as a difference, however it is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from kcli.core.classes import replace
from kcli.flows.resources.comparison import Compared
from kcli.flows.resources.differences import Path
from kcli.flows.resources.resource import Kind, Resource
from kcli.flows.resources.writing import document_text

_AROUND = 3
NOWHERE = "no file has it"
ABSENT = "it does not exist"


def unified_lines(compared: Compared) -> Iterator[str]:
    """The lines without line ends; none for what is equal."""
    if compared.is_equal:
        return
    now, wanted = compared.now, compared.wanted
    yield "--- cluster" + ("" if now is not None else f" ({ABSENT})")
    yield f"+++ {NOWHERE if wanted is None else f'{wanted.place.file}:{wanted.place.line}'}"
    yield f"@@ {compared.ref} @@"
    if wanted is None:
        yield from (f"-{line}" for line in _lines(now))
    elif now is None:
        yield from (f"+{line}" for line in _lines(_public(wanted)))
    else:
        yield from _changed(*_sides(compared, _public(wanted)))


def _lines(resource: Resource | None) -> list[str]:
    return document_text(resource).splitlines() if resource is not None else []


def _sides(compared: Compared, wanted: Resource) -> tuple[list[str], list[str]]:
    """The documents of the cluster and of the file."""
    left, right = wanted.spec, wanted.spec
    for difference in compared.differences:
        left = _with(left, difference.path, difference.now)
        right = _with(right, difference.path, difference.wanted)
    return _lines(replace(wanted, spec=left)), _lines(replace(wanted, spec=right))


def _with(spec: Mapping[Any, Any], path: Path, value: Any) -> dict[Any, Any]:
    """The spec with another value at the path; None is none. Keys of paths are text, those of specs may be numbers."""
    first, *rest = path
    key = next((known for known in spec if str(known) == first), first)
    inner = _with(spec.get(key) or {}, tuple(rest), value) if rest else value
    if inner is None:
        return {known: kept for known, kept in spec.items() if known != key}
    return {**spec, key: inner}


def _public(resource: Resource) -> Resource:
    """Without where a password is: it cannot be compared."""
    if resource.ref.kind is not Kind.USER:
        return resource
    spec = {key: value for key, value in resource.spec.items() if not key.startswith("password")}
    return replace(resource, spec=spec)


def _changed(old: list[str], new: list[str]) -> Iterator[str]:
    groups = SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_AROUND)
    for number, group in enumerate(groups):
        if number:
            yield "@@ … @@"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (f" {line}" for line in old[i1:i2])
            else:
                yield from (f"-{line}" for line in old[i1:i2])
                yield from (f"+{line}" for line in new[j1:j2])
