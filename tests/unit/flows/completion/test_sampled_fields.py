"""The fields of a record that completion offers: paths that lead somewhere, and no data."""

import pytest

from kcli.core.types import Record
from kcli.flows.completion.sampled_fields import paths_of
from kcli.flows.filters.field_paths import parse_fields


def paths(value: bytes | None, key: bytes | None = None, headers: tuple[object, ...] = ()) -> list[str]:
    return list(paths_of(Record("t", 0, 0, 0, 0, key, value, headers)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, []),
        (b"", []),
        (b"text", []),
        (b"7", []),
        (b"{broken", []),
        (b'{"a": \xff}', []),
        (b'{"a": {"b": [[{"c": 1}]]}}', ["value.a", "value.a.b", "value.a.b[0][0].c"]),
        (b'[{"a": 1}, {"b": 2}]', ["value[0].a"]),
        (b'{"a-b": 1, "1": 2, "\\"q\\\\": 3, "": 4}', ['value."a-b"', 'value."1"', r'value."\"q\\"']),
        (b"[" * 100_000, []),
        (b'{"' + b"x" * 101 + b'": 1}', []),
        (b"{" + b",".join(b'"%d": 1' % n for n in range(101)) + b"}", []),
    ],
)
def test_paths_into_json(value: bytes | None, found: list[str]) -> None:
    assert paths(value) == found


def test_nesting_ends() -> None:
    assert len(paths(b'{"a":' * 50 + b"1" + b"}" * 50)) == 8


def test_keys_and_headers_have_fields_too() -> None:
    found = paths(None, b'{"id": 1}', (("src", b"x"), (b"\xff", None), ("trace-id", b"secret")))
    assert found == ["key.id", "headers.src", 'headers."\ufffd"', 'headers."trace-id"']


def test_every_path_is_one_that_select_reads() -> None:
    value = b'{"a": {"b c": 1, "\\"": [{"x.y": 1}]}, "e\xcc\x81": 1}'
    found = paths(value, None, (("h.i", b""),))
    assert [field.name for field in parse_fields(",".join(found))] == found
