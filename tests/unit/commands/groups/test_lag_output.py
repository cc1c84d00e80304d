"""How ``kcli groups lag --watch`` prints rows: a sample fills the screen and is not higher."""

import io
from types import SimpleNamespace
from typing import Any, cast

from kcli.commands.groups.lag_output import LagOutput
from kcli.commands.shared.context import Invocation
from kcli.output.stdout import Output

RATES = {"consumed_per_second": 12.5, "produced_per_second": 100.0, "net_per_second": -87.5}
KNOWN = {
    "state": "Stable",
    "partitions": 12,
    "lag_seconds": 7_200.0,
    "eta_seconds": 60,
    "verdict": "slow",
    **RATES,
}
ROWS = [{"group": f"g{number}", "lag_records": 1_000_000 - number, **KNOWN} for number in range(60)]


def watched(**terminal: Any) -> str:
    stream = io.BytesIO()
    out = Output(stream, kind="table", **terminal)
    invocation = cast(Invocation, SimpleNamespace(out=out, talk=SimpleNamespace(warnings=[]), missing=[]))
    with LagOutput(invocation, "group", "Qx3", watched=True) as output:
        output.show_sample(1_795_255_200_250, [ROWS[:40], ROWS[40:]])
    return stream.getvalue().decode()


def test_a_sample_is_as_long_as_the_terminal() -> None:
    text = watched(isatty=True, width=200, height=24)
    assert text.startswith("\x1b[H\x1b[J2026-11-21T10:00:00.250Z\n")
    lines = text.splitlines()
    assert len(lines) == 23  # the cursor stands in the last one
    assert lines[-1] == "… and 41 more rows (--only-lagging, --topic or -o tsv show fewer or all)"
    assert lines[-2].split()[0] == "g18"


def test_a_pipe_gets_all_rows() -> None:
    text = watched()
    assert len(text.splitlines()) == 1 + 2 + len(ROWS) + 1
    assert "no room" not in text
    assert "\x1b" not in text


def test_numbers_are_whole_in_80_columns() -> None:
    text = watched(isatty=True, width=80, height=24)
    assert "1,000,000" in text
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) == 23
    assert "no room for STATE, PARTITIONS: -o wide" in text
