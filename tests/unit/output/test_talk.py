"""stderr: colour decisions, quiet and verbose, the forms of progress."""

import io
import itertools
import json

import pytest

from kcli.output.folding import folded_text
from kcli.output.progress import Progress, duration_text, progress_style, size_text
from kcli.output.talk import Talk
from kcli.output.terminal import wants_colour


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("terminal", "environ", "choice", "wanted"),
    [
        (True, {}, None, True),
        (False, {}, None, False),
        (True, {"NO_COLOR": "1"}, None, False),
        (True, {"NO_COLOR": ""}, None, True),
        (False, {"FORCE_COLOR": "1"}, None, True),
        (False, {"FORCE_COLOR": "0"}, None, False),
        (True, {"TERM": "dumb"}, None, False),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, None, False),
        (False, {"NO_COLOR": "1"}, "always", True),
        (True, {"FORCE_COLOR": "1"}, "never", False),
        (True, {"NO_COLOR": "1"}, "auto", False),
    ],
)
def test_colour(terminal: bool, environ: dict[str, str], choice: str | None, wanted: bool) -> None:
    assert wants_colour(Terminal() if terminal else io.StringIO(), environ, choice) is wanted


def test_a_closed_stream_gets_no_colour() -> None:
    stream = Terminal()
    stream.close()
    assert wants_colour(None, {}, None) is False
    assert Talk(stream).isatty is True


def said(*, quiet: bool = False, verbose: int = 0) -> str:
    talk = Talk(io.StringIO(), quiet=quiet, verbose=verbose)
    talk.note("note")
    talk.warn("warn")
    talk.detail("detail")
    talk.detail("more", level=2)
    talk.plain("plan")
    assert talk.warnings == ["warn"]
    stream = talk.stream
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def test_quiet_and_verbose() -> None:
    assert said() == "note\nwarning: warn\nplan\n"
    assert said(quiet=True) == "warning: warn\nplan\n"
    assert said(verbose=1) == "note\nwarning: warn\ndetail\nplan\n"
    assert said(verbose=2) == "note\nwarning: warn\ndetail\nmore\nplan\n"


@pytest.mark.case("C13")
def test_what_is_reported_is_sanitised_and_a_closed_stderr_is_no_error() -> None:
    stream = io.StringIO()
    Talk(stream).warn("topic \x1b[2J")
    assert "\x1b" not in stream.getvalue()
    stream.close()
    Talk(stream).warn("x")


def progress(style: str, *, total: int | None = None, step: float = 1.0) -> str:
    """What 25 updates, ``step`` seconds apart, show."""
    ticks = itertools.count(0, step)
    stream = io.StringIO()
    with Progress(
        Talk(stream), "produced", style=style, total=total, clock=lambda: float(next(ticks)), width=lambda: 60
    ) as bar:
        for done in range(1, 26):
            bar.update(done * 1000, done * 10_000, failed=done // 20)
    return stream.getvalue()


def test_off_a_terminal_a_line_per_ten_seconds_without_control_characters() -> None:
    lines = progress("line").splitlines()
    assert len(lines) == 2
    assert lines[0] == "produced 10,000 records, 100.0 kB (10.0 kB/s), 1,000 records/s"
    assert "failed 1" in lines[1]
    assert "\r" not in progress("line")


def test_a_bar_fits_the_terminal_and_goes_away() -> None:
    text = progress("bar", total=25_000)
    assert text.endswith("\r\x1b[K")
    assert "█" in text
    assert max(len(part) for part in text.replace("\x1b[K", "").split("\r")) < 60


def test_json_progress_is_ndjson_and_ends_with_the_total() -> None:
    items = [json.loads(line) for line in progress("json", total=25_000).splitlines()]
    assert {item["kind"] for item in items} == {"Progress"}
    assert (items[-1]["done"], items[-1]["bytes"], items[-1]["failed"]) == (25_000, 250_000, 1)


@pytest.mark.parametrize(
    ("total", "done", "seconds", "left"),
    [
        (None, 10, 1.0, None),
        (100, 0, 5.0, None),
        (100, 25, 5.0, "15s left"),
        (100, 25, 300.0, "15m left"),
        (100, 100, 5.0, "0s left"),
        (100, 120, 5.0, "0s left"),
    ],
)
def test_the_remaining_time_is_shown_where_there_is_an_end(
    total: int | None, done: int, seconds: float, left: str | None
) -> None:
    bar = Progress(Talk(io.StringIO()), "scanned", style="line", total=total)
    bar.done, bar.extra = done, {"matched": 1234, "of_the_input": "12 %"}
    shown = bar.line(seconds)
    assert left in shown if left is not None else "left" not in shown
    assert "matched 1,234, of the input 12 %" in shown


def test_a_share_never_becomes_smaller() -> None:
    """A query finds out on the way that there is more to do."""
    bar = Progress(Talk(io.StringIO()), "queried", style="line", unit="tasks")
    shares = []
    for share in (None, 0.5, 0.25, None, 0.75):
        bar.update(1, share=share)
        shares.append(bar.share)
    assert shares == [None, 0.5, 0.5, 0.5, 0.75]


def test_none_is_silent() -> None:
    assert progress("none") == ""


def test_a_warning_steps_in_front_of_the_bar() -> None:
    stream = io.StringIO()
    talk = Talk(stream)
    ticks = itertools.count(0, 1.0)
    with Progress(talk, "x", style="bar", clock=lambda: float(next(ticks)), width=lambda: 60) as bar:
        bar.update(1)
        talk.warn("careful")
    assert "\r\x1b[Kwarning: careful\n" in stream.getvalue()


@pytest.mark.parametrize(
    ("choice", "terminal", "quiet", "style"),
    [
        (None, True, False, "bar"),
        (None, False, False, "line"),
        (None, True, True, "none"),
        ("none", True, False, "none"),
        ("json", True, True, "json"),
        ("bar", False, False, "line"),
        ("bar", True, True, "bar"),
        ("auto", True, False, "bar"),
    ],
)
def test_which_progress(choice: str | None, terminal: bool, quiet: bool, style: str) -> None:
    talk = Talk(Terminal() if terminal else io.StringIO(), quiet=quiet)
    assert progress_style(choice, talk) == style
    if style == "bar":
        assert progress_style(choice, talk, dumb=True) == "line"


def test_sizes() -> None:
    assert [size_text(n) for n in (0, 999, 1000, 999_949, 999_950, 1_234_567, 5e12)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "999.9 kB",
        "1.0 MB",
        "1.2 MB",
        "5.0 TB",
    ]


@pytest.mark.parametrize("width", [30, 40, 80])
def test_a_bar_keeps_percent_and_the_time_left_on_any_terminal(width: int) -> None:
    ticks = itertools.count(0, 1.0)
    stream = io.StringIO()
    talk = Talk(stream)
    with Progress(
        talk, "produced", style="bar", total=25_000, clock=lambda: float(next(ticks)), width=lambda: width
    ) as bar:
        for done in range(1, 11):
            bar.update(done * 1000, done * 1_000_000)
    drawn = stream.getvalue().split("\x1b[K")[-2].strip("\r")
    assert "40 %, 15s left" in drawn
    assert len(drawn) < width


UNDO = (
    "group billing: 3 partitions set and read back; undo with: "
    "kcli groups rewind billing --undo=20261121-091403-3fa9c1"
)


@pytest.mark.parametrize("width", [30, 50, 80, 100])
def test_a_command_to_be_typed_is_whole_on_any_terminal(width: int) -> None:
    lines = folded_text(UNDO, width).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("  kcli "))
    before = " ".join(line.strip() for line in lines[:at])
    assert before == "group billing: 3 partitions set and read back; undo with:"
    lines = lines[at - 1 :]
    typed = " ".join(line.removesuffix("\\").strip() for line in lines[1:])
    assert typed == UNDO.partition(": ")[2].partition(": ")[2]
    word = len("      --undo=20261121-091403-3fa9c1")
    assert all(len(line) <= max(width, word) for line in lines[1:])
    assert all(line.endswith(" \\") for line in lines[1:-1]), "a shell reads it as one line"


LONG = "2,000 records were not counted: use `kcli consume orders --offset latest -n 1` to see why"


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        (UNDO, 200, [UNDO]),
        ("x" * 100, 20, ["x" * 100]),
        ("see " + "x" * 40, 20, ["see " + "x" * 40]),
        ("kcli: " + "x" * 40 + " has 3 bytes", 20, ["kcli: " + "x" * 40, "    has 3 bytes"]),
        ("see a " + "x" * 14, 20, ["see a " + "x" * 14]),
        ("see ab " + "x" * 14, 20, ["see ab", "    " + "x" * 14]),
        (
            LONG,
            50,
            [
                "2,000 records were not counted: use",
                "    `kcli consume orders --offset latest -n 1` to",
                "    see why",
            ],
        ),
        ("  why: one two three", 14, ["  why: one two", "      three"]),
        ("  orders   0   1,204,331   1,190,002", 20, ["  orders   0   1,204,331   1,190,002"]),
        ("an unbalanced ` sign and more", 16, ["an unbalanced `", "    sign and", "    more"]),
        ("日本語 日本語 日本語", 14, ["日本語 日本語", "    日本語"]),
        ("short\n" + "long word " * 2, 10, ["short", "long word", "    long", "    word "]),
        ("", 20, [""]),
        ("a name: \\x1b[2J\\nkcli: all is well", 20, ["a name: \\x1b[2J\\nkcli: all is well"]),
    ],
)
def test_long_lines_are_folded_between_words(text: str, width: int, lines: list[str]) -> None:
    assert folded_text(text.rstrip(), width).split("\n") == [line.rstrip() for line in lines]


def test_a_terminal_gets_notes_folded_and_traces_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    talk = Talk(stream, color="never")
    monkeypatch.setattr(talk, "_width", lambda: 20)
    talk.warn("one two three four five")
    talk.debug("x " * 20)
    *warned, trace, _ = stream.getvalue().split("\n")
    assert warned == ["warning: one two", "    three four five"]
    assert trace.endswith(" x" * 20 + " ")


def test_a_pipe_gets_a_command_in_one_line() -> None:
    stream = io.StringIO()
    Talk(stream).note(UNDO)
    assert stream.getvalue() == UNDO + "\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (59.4, "59s"),
        (60, "1m"),
        (200, "3m20s"),
        (4140, "1h09m"),
        (86_400, "1d"),
        (187_200, "2d04h"),
    ],
)
def test_durations_have_one_form(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
