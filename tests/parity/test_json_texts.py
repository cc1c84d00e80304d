"""``json_texts``: documents that are whole, odd and broken, in both twins; and what Spark's functions returned for them.

That Spark returns this is in ``tests/pipeline/test_engines.py``.
"""

from __future__ import annotations

import random

import pytest

from kcli.core.kernels import pure
from kcli.core.kernels.active import NATIVE
from kcli.core.kernels.arrow_ops import Array
from kcli.core.kernels.pure.arrow import bytes_array
from tests.json_paths import CASES
from tests.parity.damage import TRIALS

TWINS = [pure.json_texts, *([NATIVE.json_texts] if NATIVE is not None else [])]


def plain(column: Array) -> list[bytes | None]:
    length, nulls, (valid, ends, data), children = column
    places = memoryview(ends or b"").cast("B").cast("i")
    bits = memoryview(valid or b"").cast("B")
    found = [
        None
        if valid is not None and not bits[row // 8] >> row % 8 & 1
        else bytes(data or b"")[places[row] : places[row + 1]]
        for row in range(length)
    ]
    assert (nulls, children) == (found.count(None), ())
    return found


@pytest.mark.parametrize("kernel", TWINS)
@pytest.mark.parametrize(("document", "path", "expected"), CASES)
def test_the_text_at_a_path(
    kernel: object, document: str, path: tuple[str | int, ...], expected: str | None
) -> None:
    column = bytes_array([b'{"a":1}', None, document.encode(), b""])
    steps = [step if isinstance(step, int) else step.encode() for step in path]
    found = plain(kernel(column, steps))  # type: ignore[operator]
    assert found[2] == (None if expected is None else expected.encode())
    assert found[1] is found[3] is None


@pytest.mark.parametrize("kernel", TWINS)
@pytest.mark.parametrize("depth", [999, 1000, 1001])
def test_levels_are_limited(kernel: object, depth: int) -> None:
    document = b'{"a":1,"b":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
    found = plain(kernel(bytes_array([document]), [b"a"]))  # type: ignore[operator]
    assert found == [b"1" if depth <= 1000 else None]


@pytest.mark.parametrize("kernel", TWINS)
@pytest.mark.parametrize(("length", "ends"), [(1, [0, 9]), (2, [0, 2, 1]), (2, [0, 1]), (1, [-1, 1])])
def test_offsets_that_cannot_be_are_refused(kernel: object, length: int, ends: list[int]) -> None:
    places = b"".join(end.to_bytes(4, "little", signed=True) for end in ends)
    with pytest.raises(ValueError, match="offsets"):
        kernel((length, 0, (None, places, b"{}"), ()), [b"a"])  # type: ignore[operator]


@pytest.mark.skipif(NATIVE is None, reason="the extension is not built")
def test_twins_agree_on_mutations() -> None:
    chance = random.Random(35)
    bases = [document for document, _, _ in CASES if len(document) < 200]
    signs = "{}[]:,\"'\\ue0123456789.-+E tfn\n\x01é😀ab/"
    paths = ([], [b"a"], [b"a", b"b"], [0], [b"a", 1], [b"a", 0, b"b"], ["é".encode()])
    documents = []
    for _ in range(TRIALS):
        text = list(chance.choice(bases))
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(text) + 1)
            text[at : at + chance.randrange(2)] = chance.choice(["", chance.choice(signs)])
        documents.append("".join(text).encode())
    for path in paths:
        column = bytes_array(documents)
        ours, theirs = plain(NATIVE.json_texts(column, path)), plain(pure.json_texts(column, path))
        for document, one, other in zip(documents, ours, theirs, strict=True):
            assert one == other, (document, path)
