"""What kcli writes on a terminal: text of peers through one sanitiser, control sequences from a short list only.

That no control of a peer gets through is tried in `tests/cli/test_hostile_text.py`, by every command; here nobody may go
round the sanitiser unseen.
"""

import ast
import re
from pathlib import Path

import pytest

from tests.checks.source_calls import ROOT, calls, places

SANITISED = (
    "output/talk.py:Talk.write", "output/records.py:RecordSink._write",
    "output/style.py:TableRows.close", "output/style.py:TableRows._print", "output/tables.py:Aligned._print",
    "output/tables.py:Separated.add_block", "output/tables.py:Separated._line",
    "commands/shared/exit.py:print_error", "commands/shared/exit.py:print_traceback",
    "commands/shared/confirm.py:_answer", "commands/shared/confirm.py:_answered",
    "commands/cluster/_rows.py:print_state",
    "commands/brokers/_describing.py:_further", "commands/quorum/_describing.py:_show",
    "commands/shared/findings.py:Screen._line", "commands/groups/_describing.py:Describing._print",
    "commands/sandbox/_log_lines.py:_log_line", "commands/txn/_describing.py:_describe_id",
    "commands/topics/_who_page.py:_print_parts", "commands/groups/_why_page.py:_print_page",
)  # fmt: skip
"""They pass their text, or have passed each name in it, through `kcli/output/sanitise.py`."""
ESCAPED = (
    "output/envelope.py:JsonDocument.put", "output/envelope.py:JsonDocument.close",
    "output/envelope.py:JsonDocument._begin", "output/envelope.py:JsonLines.put", "output/envelope.py:YamlDocument.put",
    "output/envelope.py:YamlDocument.close", "output/envelope.py:YamlDocument._begin",
    "output/progress.py:Progress._write", "commands/reassign/_planning.py:plan",
    "commands/schema_registry/export.py:export_schemas",
)  # fmt: skip
"""Documents, whose strings their format escapes."""
OWN = (
    # Numbers and words of kcli's own, and what the user typed.
    "commands/_diffing.py:compare_files",
    "commands/completion.py:completion", "commands/schema.py:schema", "commands/demo/run.py:show_all",
    "commands/mirror/report.py:print_groups",
    "commands/cluster/_checking.py:_show", "commands/demo/run.py:_throw_away_kafka",
    "commands/demo/stage.py:Stage.command", "commands/demo/stage.py:Stage.line",
    "commands/groups/_describing.py:Describing._print_records",
    "commands/groups/_describing.py:Describing._print_streams",
    "commands/groups/lag_output.py:LagOutput._show_table",
    "commands/shared/options.py:VersionOption.handle_parse_result", "output/terminal.py:page", "flows/stop.py:Stop._now",
    "commands/pipeline/pack.py:pack", "commands/exporter/run.py:run",
    "commands/consume/count.py:PrintedCounts._print",
    "commands/tokens/_hmac.py:HmacOnStdout.put",
    "commands/perf/result.py:print_result", "commands/perf/result.py:_print_latencies",
    "commands/perf/live_figures.py:Reporting._write", "commands/perf/live_figures.py:Reporting.add",
    "docgen/__main__.py:main", "docgen/__main__.py:write_site",
    "docgen/pictures.py:main", "tui/driver.py:TopDriver.restore_at_once",
    # Names for completion, which are checked one by one; and the input of `produce --tee`, which the user has.
    "commands/complete.py:_print", "commands/produce/run.py:_tee.tap",
    # The stream itself.
    "output/stdout.py:Output.write",
)  # fmt: skip

WORDS = r"\.text\(|\.write\(|print\(|click\.echo|secho"
STREAMS = (
    r"((.*\.)?_?out\.(text|write)|.*\bstream\.write|below\.write|print|click\.s?echo|sys\.std\w+\.write)"
)


def shows(call: ast.Call) -> bool:
    """Whether a call writes on stdout or stderr as it is."""
    name = ast.unparse(call.func)
    if name == "os.write":
        return ast.unparse(call.args[0]) in ("1", "2", "terminal")
    return re.fullmatch(STREAMS, name) is not None


@pytest.mark.case("X21", "C13")
def test_every_writer_to_a_terminal_is_known() -> None:
    found = {
        place
        for place in places(WORDS, shows)
        if not place.startswith(("flows/mirror", "core/", "profiles/"))
    }
    assert found == {*SANITISED, *ESCAPED, *OWN}


SEQUENCE = re.compile(r"\x1b(?:\[[0-9;]*[mKHJ]|\[\?[0-9]+[hl]|\[<u|\]11;\?\x1b\\|\[c|[78])")
"""Colours, modes, erasing, moving the cursor; and two questions: for the background (OSC 11), for the device (DA1)."""


def strings(path: Path) -> list[str]:
    """The strings of a module, without docstrings."""
    text = path.read_text()
    if not re.search("x1b|x9[0d]|033|001b|[\x1b\x90\x9d]", text, re.I):
        return []  # no spelling of such a character is in it
    tree = ast.parse(text)
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def foreign_sequences(text: str) -> str:
    """What is left of control sequences without those that are known."""
    return "".join(re.findall("[\x1b\x9b\x9d\x90].*", SEQUENCE.sub("", text.replace("\x1b[1;", ""))))


@pytest.mark.case("X24")
def test_no_sequence_sets_a_title_a_link_or_the_clipboard() -> None:
    """They begin with ESC ] (OSC), ESC P (DCS) or their C1 forms."""
    found = {
        path.name: text
        for path in (ROOT / "kcli").rglob("*.py")
        for text in strings(path)
        if foreign_sequences(text) and path.name not in ("sanitise.py", "asciicast.py")  # one writes a file
    }
    assert not found


@pytest.mark.case("X31")
@pytest.mark.parametrize(
    "text", ["\x1b]0;title\x07", "\x1b]8;;http://h\x1b\\", "\x1b]52;c;eA==\x07", "\x9d0;t", "\x1bPq"]
)
def test_such_a_sequence_is_found(text: str) -> None:
    assert foreign_sequences(f"a {text} b")


def test_the_sequences_in_use_are_not() -> None:
    assert not foreign_sequences("\x1b[1;31mred\x1b[0m \r\x1b[K \x1b[H\x1b[J \x1b7\r \x1b8")


@pytest.mark.case("X31")
def test_a_writer_is_found() -> None:
    for line in (
        "print(x)",
        "click.echo(x)",
        "inv.out.text(x)",
        "os.write(1, x)",
        "inv.talk.stream.write(x)",
    ):
        ((_, call),) = calls(ast.parse(line))
        assert shows(call), line
    for line in ("inv.out.shown(x)", "file.write(x)", "os.write(fd, x)", "talk.note(x)"):
        ((_, call),) = calls(ast.parse(line))
        assert not shows(call), line
