"""``SharedParser``: whatever the input is and however it is cut, the items are those of the parser alone."""

import random
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from kcli.core.errors import KcliError
from kcli.core.kernels.varint import Buffer
from kcli.core.records.text_cut import line_count
from kcli.flows.inputs import shared
from kcli.flows.inputs.input_format import FORMATS, HeaderBlocks, InputFormat
from kcli.flows.inputs.item import Item, Mark
from kcli.flows.inputs.lines import LineFormat
from kcli.flows.inputs.parsers import parser_of
from kcli.flows.inputs.shared import ParseWork, SharedParser, terminator_of

NDJSON = (
    b'{"value":"a"}\n\n{"value":"b","key":"k","timestamp":7,"headers":[["n","v"]]}\n'
    b'not json\n\xef\xbb\xbf{"value":null}\n'
)
CSV = b'key,value\nk,v\n"a\n1","x ""y"" z"\n,\nbad,"quote"s\n\nlast,one\n'
OBJECTS = b'id,name\n1,"a,\nb"\n2,\n3,x,y\n'
KCAT = b'{"topic":"t","partition":0,"offset":1,"ts":5,"key":"k","payload":"v"}\n{"payload":"w"}\nno\n'
CASES: dict[str, tuple[InputFormat, bytes]] = {
    "ndjson": (InputFormat("ndjson"), NDJSON),
    "no line end": (InputFormat("ndjson"), NDJSON + b'{"value":"c"}'),
    "kcat": (InputFormat("kcat"), KCAT),
    "csv": (InputFormat("csv"), CSV),
    "csv without line end": (InputFormat("csv"), CSV[:-1]),
    "csv that is only a header line": (InputFormat("csv"), b"key,value"),
    "csv that is empty": (InputFormat("csv"), b""),
    "csv with a quote that is never closed": (InputFormat("csv"), CSV + b'"open\na,b\nc,d\n'),
    "csv with records that are too long": (InputFormat("csv", longest=0), CSV * 3),
    "objects": (InputFormat("csv-objects"), OBJECTS),
    "objects of csv": (InputFormat("csv"), OBJECTS),
    "lines": (InputFormat("lines", LineFormat(b"ab", key_delimiter=b":")), b"k:vabaabxab:abab"),
    "lines that are too long": (InputFormat("lines", longest=5), b"1234567\n12\n123456\n1\n"),
    "headers": (InputFormat("ndjson", blocks=HeaderBlocks([("h", b"1")])), NDJSON),
    "pattern": (InputFormat("pattern", pattern=r"%k=%v;\n"), b"a=1;\nb=2;\nc\nd=4;\n"),
    "failed": (InputFormat("failed"), b'{"input":"a","format":"lines"}\n{"input":7}\n{"input":"b"}\n'),
}


class Here:
    """Stands for ``Processes``: does the work at once, in this process. ``lost``: whether a process was."""

    def __init__(self, work: ParseWork, rng: random.Random, *, loses: bool) -> None:
        self._work, self._rng, self._loses = work, rng, loses
        self._queue: deque[memoryview | None] = deque()

    @property
    def room(self) -> bool:
        return len(self._queue) < self._rng.randint(1, 3)

    def submit(self, pieces: Sequence[Buffer]) -> None:
        if self._loses and not self._rng.randrange(3):
            self._queue.append(None)
            return
        try:
            self._queue.append(memoryview(self._work(memoryview(b"".join(pieces)))))
        except Exception:  # noqa: BLE001 - as a process does it
            self._queue.append(None)

    def take(self) -> memoryview | None:
        return self._queue.popleft()


def alone(form: InputFormat, data: bytes) -> list[Item]:
    parser = parser_of(form)
    return [*parser.feed(data), *parser.finish()]


def cut(data: bytes, rng: random.Random) -> list[bytes]:
    places = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randint(0, 6)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True) if a < b]


@pytest.mark.parametrize("loses", [False, True], ids=["all live", "one dies"])
@pytest.mark.parametrize("name", CASES)
def test_items_are_those_of_the_parser_alone(name: str, loses: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    form, data = CASES[name]
    wanted = alone(form, data)
    for seed in range(60):
        rng = random.Random(seed)
        monkeypatch.setattr(shared, "_LONGEST", rng.choice([8, 40, 1 << 20]))
        assert shared_out(form, data, rng, loses=loses) == wanted, seed


def test_items_of_any_text_are_those_of_the_parser_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all pieces that mean something to a format, in any order."""
    heads = (
        b"",
        b"key,value\n",
        b"id,name\r\n",
        b'"ke""y",value\n',
        b"\xef\xbb\xbfkey,value\n",
        b'"a\nb",c\n',
        b"\r\n",
    )
    own = [piece for _, data in CASES.values() for piece in data.splitlines(keepends=True)]
    pieces = (
        *own,
        b",",
        b";",
        b":",
        b"=",
        b"a",
        b" ",
        b"\x00",
        b"\xff",
        b"{",
        b'""',
        b"\r\n",
        b"\n\n",
        b"ab",
        b"::",
        b"\xef\xbb\xbf",
        b'"',
        b"\n",
        b"\r",
    )
    for seed in range(1_500):
        rng = random.Random(seed)
        form, _ = rng.choice(list(CASES.values()))
        monkeypatch.setattr(shared, "_LONGEST", rng.choice([8, 40, 1 << 20]))
        data = rng.choice(heads) + b"".join(rng.choices(pieces, k=rng.randint(0, 30)))
        found = outcome(partial(shared_out, form, data, rng, loses=seed % 3 == 0))
        assert found == outcome(partial(alone, form, data)), seed


def outcome(items: Callable[[], list[Item]]) -> list[Item] | str:
    try:
        return items()
    except KcliError as error:
        return str(error)


def shared_out(form: InputFormat, data: bytes, rng: random.Random, *, loses: bool) -> list[Item]:
    terminator = terminator_of(form)
    assert terminator is not None
    here = Here(ParseWork(form, raws=True), rng, loses=loses)
    parser = SharedParser(here, form, terminator)  # type: ignore[arg-type]
    found: list[Item] = []
    read = 0
    for block in cut(data, rng):
        parser.feed(block, Mark((read, 0), (read + len(block), 0), len(block)))
        read += len(block)
        for items, mark in parser.ready(everything=rng.random() < 0.3):
            assert mark.after[0] <= read
            found += items
    for items, _mark in parser.finish(Mark((read, 0), (read, 0))):
        found += items
    return found


def test_raw_input_comes_back_only_where_it_is_needed() -> None:
    form, data = CASES["ndjson"]
    here = Here(ParseWork(form, raws=False), random.Random(0), loses=False)
    parser = SharedParser(here, form, b"\n")  # type: ignore[arg-type]
    parser.feed(data, Mark((0, 0), (len(data), 0)))
    found = [item for items, _ in parser.ready(everything=True) for item in items]
    assert [item.raw for item in found] == [None, None, b"not json", None]
    assert line_count(bytearray(data), 0, len(data), b"\n") == 5


def test_each_format_can_be_cut_or_not() -> None:
    cannot = {kind for kind in FORMATS if terminator_of(InputFormat(kind)) is None}
    assert cannot == {"raw", "file"}
    assert terminator_of(InputFormat("pattern", pattern="%R%s")) is None
