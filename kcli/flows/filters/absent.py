"""Fields that no record of a reading has: mostly a name that was mistyped, for which filters and counts are no errors.

``AbsentFields`` looks at the batches that filters are given, until each of the fields was in one of them; from then on it
costs nothing. A name that does not occur in the bytes of a batch needs no parsing. What cannot be told is not reported:
the field of a value that cannot be decoded, or one that is not found in ``MOST_PARSED`` records that have its name.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.near_names import near_names
from kcli.flows.filters.decoded import DecodedField
from kcli.flows.filters.grep import raw_name
from kcli.flows.filters.selection import BatchFields
from kcli.serde.errors import DecodeError
from kcli.serde.json_text import dump_json, parse_json

MOST_PARSED = 10_000
"""Records that are parsed for a field."""
_SAMPLED = 20  # records whose fields are suggested
_WIDEST, _DEEPEST = 100, 8  # of objects whose members are suggested
_UNREADABLE = (ValueError, RecursionError, DecodeError)

Path = tuple[str | int, ...]


class Absent(NamedTuple):
    """A field, the option that names it, and the most similar one that a record has; empty if none is similar."""

    option: str
    field: str
    near: str


class _Sought:
    """A field that no record had so far. ``path`` begins with key, value or headers."""

    def __init__(self, option: str, path: Path) -> None:
        self.option, self.path = option, path
        self.left = MOST_PARSED
        names = [
            step for step in path[1:] if isinstance(step, str) and "/" not in step
        ]  # JSON may have \/ for it
        texts = names if path[0] == "headers" else map(dump_json, names)
        self.names = [text.encode("utf-8", "surrogateescape") for text in texts]


class AbsentFields:
    """``fields``: options and the paths that they name, such as ``("value", "customer", "id")``. ``key`` and ``value``
    are those with a serde.
    """

    def __init__(
        self,
        fields: Iterable[tuple[str, Path]],
        key: DecodedField | None = None,
        value: DecodedField | None = None,
    ) -> None:
        unique = dict.fromkeys(
            (option, path)
            for option, path in fields
            if len(path) > 1 and path[0] in ("key", "value", "headers")
        )
        self._sought = [_Sought(option, path) for option, path in unique]
        self._decoded = {"key": key, "value": value}
        self._seen: dict[str, None] = {}
        self._sampled = 0
        self._records = 0

    def __bool__(self) -> bool:
        """Whether it has to see further batches."""
        return bool(self._sought)

    def look(self, fields: BatchFields) -> None:
        """Looks for the fields that no batch had so far."""
        self._records += fields.count
        self._sought = [one for one in self._sought if not self._is_in(one, fields)]
        if self._sought:
            self._sample(fields)

    def found(self) -> Iterator[Absent]:
        """The fields that no record had, if there were records."""
        for one in self._sought if self._records else ():
            shown = _shown(one.path)
            yield Absent(one.option, shown, self._near(shown))

    # --- whether a batch has a field ---------------------------------------------------------------------

    def _is_in(self, one: _Sought, fields: BatchFields) -> bool:
        """Whether a record has the field, or it cannot be told."""
        root = str(one.path[0])
        if root == "headers":
            return self._has_header(one, fields)
        if (
            self._decoded[root] is None and b"\\u" not in fields.data
        ):  # with \u names may be written in another way
            data = fields.data
            if not all(name in data for name in one.names):
                return False
        for index in range(fields.count):
            if not one.left:
                return True
            one.left -= 1
            if _has(self._value(root, fields, index), one.path[1:]):
                return True
        return False

    def _has_header(self, one: _Sought, fields: BatchFields) -> bool:
        wanted = str(one.path[1]).encode("utf-8", "surrogateescape")
        return wanted in fields.data and any(
            raw_name(name) == wanted for index in range(fields.count) for name, _ in fields.headers(index)
        )

    def _value(self, root: str, fields: BatchFields, index: int) -> Any:
        """What is parsed or decoded of a record; None for what cannot be."""
        decoded = self._decoded[root]
        try:
            if decoded is not None:
                return decoded.value(fields, index)
            data = fields.key(index) if root == "key" else fields.value(index)
            return None if data is None else parse_json(data.decode())
        except _UNREADABLE:
            return None

    # --- what the records have instead -------------------------------------------------------------------

    def _sample(self, fields: BatchFields) -> None:
        roots = {str(one.path[0]) for one in self._sought}
        for index in range(min(fields.count, _SAMPLED - self._sampled)):
            self._sampled += 1
            for root in roots - {"headers"}:
                self._seen |= dict.fromkeys(_paths(root, self._value(root, fields, index), _DEEPEST))
            if "headers" in roots:
                names = (raw_name(name).decode("utf-8", "replace") for name, _ in fields.headers(index))
                self._seen |= dict.fromkeys(_shown(("headers", name)) for name in names)

    def _near(self, field: str) -> str:
        """By the last name, also of a field that is somewhere else."""
        root, (parent, _, name) = field.partition(".")[0], field.rpartition(".")
        known = [path for path in self._seen if path.startswith(root)]
        known.sort(key=lambda path: path.rpartition(".")[0] == parent)
        by_name = {path.rpartition(".")[2]: path for path in known}  # of equal names the last one counts
        near = near_names(name, by_name)
        return by_name[near[0]] if near else ""


def _has(value: Any, path: Sequence[str | int]) -> bool:
    for step in path:
        if isinstance(step, int):
            if not isinstance(value, list) or not -len(value) <= step < len(value):
                return False
        elif not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True


def _paths(path: str, value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, list) and value and depth:
        yield from _paths(f"{path}[0]", value[0], depth - 1)
    if isinstance(value, dict) and len(value) <= _WIDEST and depth:
        for name, member in value.items():
            inner = path + _step(name)
            yield inner
            yield from _paths(inner, member, depth - 1)


def _shown(path: Path) -> str:
    return str(path[0]) + "".join(f"[{step}]" if isinstance(step, int) else _step(step) for step in path[1:])


def _step(name: str) -> str:
    if name.isascii() and name.replace("-", "_").isidentifier():
        return f".{name}"
    return '."' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
