"""README's table of speed: ranges of the runs that were recorded, and none of a busy machine."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import readme


def run(at: str, cpu: float, version: str = "1", raw: float | None = None) -> dict[str, Any]:
    more = {} if raw is None else {"raw loop": (raw, 0.9)}
    return {
        "at": at,
        "kcli": version,
        "versions": "kcat 1",
        "ratios": {"produce 100 B": {"kcat": (cpu, 2.0), **more}},
    }


def test_a_row_has_the_least_and_the_most() -> None:
    runs = [run("2026-01-01T10:00Z", 7.31), run("2026-01-02T10:00Z", 5.04, raw=0.74)]
    table = readme.table(runs)
    assert list(table.heads) == ["of CPU time, ×", "kcat", "raw loop", "on the wall, × kcat"]
    assert list(table.rows) == [["produce 100 B", "5.0 to 7.3 ×", "0.74 ×", "2.0 ×"]]
    assert "2 runs on 2026-01-01 and 2026-01-02, fewer than 5 runs of 2 days" in table.notes[0]
    assert "fewer" not in readme.table([*runs, *runs, *runs]).notes[0]


def test_the_table_has_the_runs_of_the_version_that_was_measured_last() -> None:
    runs = [run("a", 1, "1"), run("b", 2, "2"), run("c", 3, "2")]
    assert readme.newest(runs) == runs[1:]


@pytest.mark.parametrize("load", [0.6, 20])
def test_nothing_is_recorded_on_a_busy_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, load: float
) -> None:
    monkeypatch.setattr(readme, "RUNS", tmp_path / "runs.json")
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.delenv("KCLI_BENCH_TRY", raising=False)
    with pytest.raises(SystemExit, match=f"the load is {load:.1f}"):
        readme.main()
    assert not readme.RUNS.exists()


def test_a_run_is_recorded_and_the_table_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- benchmark readme -->\n\nold\n\n<!-- end -->\nafter\n")
    monkeypatch.setattr(readme, "RUNS", tmp_path / "runs.json")
    monkeypatch.setattr(readme, "README", page)
    monkeypatch.setattr(readme, "MEGABYTES", 1000)
    monkeypatch.setattr("os.getloadavg", lambda: (0.1, 0.0, 0.0))
    monkeypatch.delenv("KCLI_BENCH_TRY", raising=False)
    monkeypatch.setattr("benchmarks.produce_consume.versions", lambda: "kcat 1")
    for ratio in (5.0, 7.0):
        ratios = {"produce 1 KB": {"kcat": (ratio, 1.0)}}
        monkeypatch.setattr(readme, "measured", lambda turn, ratios=ratios: ratios)
        readme.main()
    assert len(json.loads(readme.RUNS.read_text())) == 2
    text = page.read_text()
    assert "| produce 1 KB | 5.0 to 7.0 × | 1.00 × |" in text
    assert "old" not in text
    assert (text[:7], text[-6:]) == ("before\n", "after\n")
