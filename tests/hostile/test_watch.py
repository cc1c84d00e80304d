"""The watch can fail: parsers that misbehave on purpose, one of each kind, are all found, and named."""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest

from kcli.core.errors import ProtocolError
from tests.hostile.__main__ import campaign, keep
from tests.hostile.harness import Finding, Memory, Plan, Watch, alarm, run
from tests.hostile.mutator import Mark, Sample, mutate
from tests.hostile.target import Family, Target

pytestmark = [
    pytest.mark.case("R12"),
    pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from Linux's /proc"),
]


def judge(parse: Callable[[bytes], object], data: bytes = b"ab") -> Finding | None:
    memory = Memory()
    with alarm() as arm:
        found = Watch(arm, memory).judge(Target("canary", "canaries", lambda _rng: data, parse), data, 0)
    memory.close()
    return found


def refusing(_data: bytes) -> None:
    raise ProtocolError("nonsense")


def with_an_index(data: bytes) -> int:
    return data[2]


def slow(_data: bytes) -> None:
    """Keeps every ordinary exception to itself, as careless parsers do."""
    while True:
        try:
            sum(range(1000))
        except Exception:  # noqa: BLE001
            continue


def hungry(_data: bytes) -> None:
    """Gives all of it back at once: only the high-water mark knows."""
    bytearray(b"x" * (40 << 20))


@pytest.mark.parametrize(
    ("parse", "kind"),
    [(with_an_index, "IndexError"), (slow, "no-end-in-1-s"), (hungry, "grows"), (lambda d: d.decode("x"), "LookupError")],
)  # fmt: skip
def test_a_parser_that_misbehaves_is_a_finding(parse: Callable[[bytes], object], kind: str) -> None:
    found = judge(parse)
    assert found is not None
    assert (found.kind, found.data) == (kind, b"ab")


def test_a_parser_that_refuses_or_accepts_is_none() -> None:
    assert judge(refusing) is None
    assert judge(len) is None


def test_growth_in_small_steps_is_found() -> None:
    kept: list[bytes] = []
    hoarder = Target("hoarder", "canaries", lambda _rng: b"", lambda _data: kept.append(bytes(1 << 20)))
    found = list(run(Plan([Family("canaries", 1, (hoarder,))]), 1, range(100)))
    assert {one.kind for one in found} == {"grows"}
    assert int(found[0].name.partition(":")[2]) >= 30


def test_an_input_depends_on_its_seed_and_number_alone() -> None:
    one, two = (
        Plan([Family("f", 1, (Target("t", "f", partial(Random.randbytes, n=8), len),))]) for _ in "ab"
    )
    assert [one.input(7, n)[2] for n in range(9)] == [two.input(7, n)[2] for n in reversed(range(9))][::-1]
    assert one.input(7, 0)[2] != one.input(8, 0)[2]


def test_each_change_is_made_sometimes() -> None:
    sample = Sample(bytes(range(40)), (Mark(4, "i"), Mark(8, "z")))
    rng = Random(1)
    made = [mutate(sample, rng) for _ in range(2000)]
    assert sum(one != sample.data for one in made) > 1900
    assert {len(one) < 40 for one in made} == {len(one) > 40 for one in made} == {True, False}
    for edge in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00"):
        assert sum(one[4:8] == edge for one in made) > 10


@pytest.mark.parametrize("kind", ["death", "stuck"])
def test_a_process_that_dies_or_hangs_in_native_code_is_a_finding_and_the_rest_is_judged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    """The worker processes get a family whose 5th input does it; a C loop is one that no Python handler interrupts."""
    site = tmp_path / "sitecustomize.py"
    act = (
        "os.kill(os.getpid(), 11)" if kind == "death" else "signal.pthread_sigmask(0, {27}); time.sleep(600)"
    )
    site.write_text(f"""
import os, signal, time
from tests.hostile import harness
judge = harness.Watch.judge
def judged(self, target, data, spare, name=""):
    if name.endswith(":5"):
        {act}
    return judge(self, target, data, spare, name)
harness.Watch.judge = judged
""")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), str(Path.cwd()))))
    monkeypatch.setattr("tests.hostile.__main__._STUCK", 1.5)
    findings, judged, _ = campaign(40, 3, ("pure",), only=("frames", "sasl"))
    assert [(one.kind, one.name) for one in findings] == [
        (f"death-{-signal.SIGSEGV}" if kind == "death" else "stuck", "3:5")
    ]
    assert judged == 40


def test_one_finding_of_each_kind_is_kept_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.hostile.__main__.FOUND", tmp_path / "found")
    rows = [
        ("A-v1", "IndexError", "a.py:1 in f"),
        ("A-v2", "IndexError", "a.py:2 in f"),
        ("B-v1", "grows", ""),
    ]
    kept = keep([Finding(target, kind, where, b"x") for target, kind, where in rows])
    assert [one.target for one in kept] == ["A-v1", "B-v1"]
    assert [path.name.rpartition("-")[0] for path in sorted((tmp_path / "found").iterdir())] == [
        "A-v1.IndexError",
        "B-v1.grows",
    ]
