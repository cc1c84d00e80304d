"""An export is killed before each of its lasting steps: a file that is created, synced, named or removed.

Whatever is there then, the same command completes it, and the result is that of a run without a kill.
"""

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake.cluster import FakeCluster
from tests.pipeline.exporting import ROWS, export, files, fill

STEPS = ("open", "fsync", "link", "rename", "unlink")
_FORK = multiprocessing.get_context("fork")


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="here", topics={"t": 2}) as made:
        fill(made, ROWS)
        fill(made, ROWS[:2], 1)
        yield made


def _run(cluster: FakeCluster, folder: Path, kill_before: int, more: tuple[str, ...]) -> None:
    """Runs the command in this process, which ends itself before that step."""
    steps = 0

    def counting(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            nonlocal steps
            changes = call is not os_open or arguments[1] & os.O_CREAT
            if (changes and str(folder) in str(arguments[0])) or call is os.fsync:
                if steps == kill_before:
                    os.kill(os.getpid(), signal.SIGKILL)
                steps += 1
            return call(*arguments, **named)

        return counted

    os_open = os.open
    for name in STEPS:
        setattr(os, name, counting(getattr(os, name)))
    code = export(cluster, folder, *more)[0].code
    os._exit(code)


def killed(cluster: FakeCluster, folder: Path, kill_before: int, *more: str) -> bool:
    """Whether the run was killed before that step; otherwise it has completed."""
    process = _FORK.Process(target=_run, args=(cluster, folder, kill_before, more))
    process.start()
    process.join(60)
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def state(folder: Path) -> tuple[Any, dict[str, bytes]]:
    """The manifest without its time, and all files."""
    found = files(folder)
    text = json.loads(found.pop("_kcli_manifest.json"))
    del text["created"]
    return text, found


@pytest.mark.case("K4")
def test_an_export_that_is_killed_anywhere_is_completed(cluster: FakeCluster, tmp_path: Path) -> None:
    export(cluster, tmp_path / "whole", "--format", "ndjson")
    whole = state(tmp_path / "whole")
    step = 0
    while killed(cluster, tmp_path / str(step), step, "--format", "ndjson"):
        folder = tmp_path / str(step)
        names = files(folder) if folder.exists() else {}
        if "_kcli_manifest.json" in names:
            assert state(folder)[0] == whole[0]
        fill(cluster, ROWS[:1], 1)  # not part of it: its ends were written down, unless it had not begun
        planned = {"_kcli_manifest.json", "_kcli_plan.json"} & set(names)
        done, _ = export(cluster, folder, "--format", "ndjson")
        assert done.code == 0, done.err
        if planned:
            assert state(folder) == whole
        else:
            assert set(state(folder)[1]) != set(whole[1])
        cluster.truncate("t", 1, 2)
        step += 1
    assert step > 12
    assert state(tmp_path / str(step)) == whole


@pytest.mark.case("K4")
def test_a_continuous_export_that_is_killed_anywhere_goes_on(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcli.pipeline.drivers.export.wait", lambda _seconds, stop: stop.request())
    flags = ("--format", "ndjson", "--continuous")
    first = tmp_path / "first"
    export(cluster, first, *flags)
    fill(cluster, ROWS[:1])
    fill(cluster, ROWS[:3], 1)
    step = 0
    while True:
        folder = tmp_path / str(step)
        for name, data in files(first).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        was_killed = _killed_or_stopped(cluster, folder, step, flags)
        done, _ = export(cluster, folder, *flags)
        assert done.code == 130, done.err
        text, found = state(folder)
        ends = [[(one["start"], one["end"]) for one in p["files"]] for p in text["topics"][0]["partitions"]]
        assert ends == [[(0, 5), (5, 6)], [(0, 2), (2, 5)]]
        assert len(found) == 4
        if not was_killed:
            break
        step += 1
    assert step > 10


def _killed_or_stopped(cluster: FakeCluster, folder: Path, step: int, flags: tuple[str, ...]) -> bool:
    process = _FORK.Process(target=_run, args=(cluster, folder, step, flags))
    process.start()
    process.join(60)
    assert process.exitcode in (130, -signal.SIGKILL)
    return process.exitcode != 130
