"""The steps of kcli demo on the fake cluster: what they prove, and that each proof can fail."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kcli.__main__ import run
from kcli.commands.demo import groups as demo_groups
from kcli.commands.demo import run as demo_run
from kcli.commands.demo.stage import COPY, GROUP, TOPIC, ProofError
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.global_values import GlobalValues
from kcli.core import Producer
from kcli.core.admin.admin import Admin
from kcli.core.types import OffsetAndMetadata, ProducerRecord, TopicPartition
from kcli.flows.mirror.job.store import TopicStore
from kcli.flows.round_trip import generate_lines
from kcli.flows.stop import Stop
from tests.fake.cluster import FakeCluster

RECORDS, SIZE = 1_001, 11
HALF, QUARTER = 500, 250


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCluster]:
    """The cluster that the demo uses instead of a Kafka of its own."""
    with FakeCluster(1) as found:

        @contextmanager
        def given(_inv: Invocation, _version: str | None) -> Iterator[tuple[str, Path]]:
            yield found.bootstrap, tmp_path

        monkeypatch.setattr(demo_run, "_throw_away_kafka", given)
        monkeypatch.setattr("kcli.flows.rewind.execute.LATER_SECONDS", 0.0)
        yield found


def demo(records: int = RECORDS) -> int:
    return demo_run.run(Invocation(GlobalValues(output="plain", progress="none")), records, SIZE, None)


def commit(cluster: FakeCluster, offset: int) -> None:
    """What another client would do: the group is at another offset now."""
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        tp = TopicPartition(TOPIC, 0)
        assert admin.commit_offsets({GROUP: {tp: OffsetAndMetadata(offset)}}) == {GROUP: {tp: None}}


def around(
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    name: str,
    *,
    before: Callable[[], object] = lambda: None,
    after: Callable[[], object] = lambda: None,
) -> None:
    """Lets something happen each time the function is called, or has returned."""
    real = getattr(module, name)

    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        before()
        found = real(*arguments, **keywords)
        after()
        return found

    monkeypatch.setattr(module, name, wrapped)


@pytest.mark.parametrize("records", [1, 2, RECORDS])
def test_every_step_is_proved(
    cluster: FakeCluster, records: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert demo(records) == 0
    lines = capfd.readouterr().out.splitlines()
    proofs = [line for line in lines if line.startswith("proof")]
    half = max(1, records // 2)
    said = [
        f"= {records - half:,}",
        f"number {half // 2:,}",
        f"at offset {half:,} again",
        f"offset {records:,}",
    ]
    assert len(proofs) == 1 + len(said)
    for proof, words in zip(proofs[1:], said, strict=True):
        assert words in proof
    generate_lines(tmp_path / "again", records, SIZE, Stop())
    digest = hashlib.sha256((tmp_path / "again").read_bytes()).hexdigest()
    sent, received, source, copy, verdict = lines[-5:]
    assert sent.split() == ["sent", digest]
    assert received.split() == ["received", digest]
    assert source.split()[0] == "source"
    assert copy.split() == ["copy", source.split()[1]]
    assert verdict.startswith("the digests are equal")
    assert max(map(len, lines)) <= 110
    assert [line.split()[1:3] for line in lines if line.startswith("$")] == [
        *(["kcli", "produce"], ["kcli", "consume"], ["kcli", "consume"]),
        *(["kcli", "groups"], ["kcli", "groups"], ["kcli", "groups"]),
        *(["kcli", "mirror"], ["kcli", "mirror"]),
    ]


def test_the_lag_is_shown_as_the_command_shows_it(
    cluster: FakeCluster, capfd: pytest.CaptureFixture[str]
) -> None:
    assert demo() == 0
    lines = capfd.readouterr().out.splitlines()
    row = next(index for index, line in enumerate(lines) if line.startswith("GROUP ")) + 1
    assert lines[row].split()[:5] == [GROUP, "classic", "Empty", "1", str(RECORDS - HALF)]


def test_a_wrong_lag_ends_the_demo(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    around(monkeypatch, demo_groups, "measure_lag", before=lambda: commit(cluster, HALF + 1))
    assert run(["demo", "--records", str(RECORDS), "--progress", "none"]) == 8
    captured = capfd.readouterr()
    assert captured.err.splitlines() == [
        "kcli: the step lag of the demo failed its proof: the committed offset of the group",
        "  why: 501 was found, 500 was expected",
        "  do: report this",
    ]
    assert "kcli groups rewind" not in captured.out


@pytest.mark.parametrize(("rewinds", "step", "expected"), [(1, "rewind", QUARTER), (2, "undo", HALF)])
def test_a_group_that_is_not_where_it_was_set_ends_the_demo(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, rewinds: int, step: str, expected: int
) -> None:
    done: list[None] = []

    def interfere() -> None:
        done.append(None)
        if len(done) == rewinds:
            commit(cluster, 7)

    around(monkeypatch, demo_groups, "execute", after=interfere)
    with pytest.raises(ProofError, match=f"step {step} ") as error:
        demo()
    assert (error.value.exit_code, error.value.why) == (8, f"7 was found, {expected} was expected")


def test_another_next_record_than_the_named_one_ends_the_demo(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    around(monkeypatch, demo_groups, "_committed", after=lambda: commit(cluster, 9))
    with pytest.raises(ProofError, match=r"step rewind .*next record") as error:
        demo()
    assert (error.value.exit_code, error.value.why) == (8, "9 was found, 250 was expected")


def test_a_mirror_without_a_committed_position_ends_the_demo(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TopicStore, "save", lambda _self, _copies, *, ended=False: True)
    with pytest.raises(ProofError, match=r"step mirror .*position") as error:
        demo()
    assert (error.value.exit_code, error.value.why) == (8, "None was found, 1,001 was expected")


def test_a_copy_that_differs_ends_the_demo_after_the_digests(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def add_record() -> None:
        with Producer(bootstrap_servers=cluster.bootstrap) as producer:
            producer.send(ProducerRecord(COPY, b"more")).result(120)

    around(monkeypatch, demo_run, "show_mirror", after=add_record)
    with pytest.raises(ProofError, match="step verify") as error:
        demo()
    assert error.value.exit_code == 8
    assert "the source has no such record" in error.value.why
    lines = capfd.readouterr().out.splitlines()
    source, copy = (line.split() for line in lines[-2:])
    assert (source[0], copy[0]) == ("source", "copy")
    assert source[1] != copy[1]


@pytest.mark.parametrize("step", ["show_lag", "show_rewind", "show_mirror", "show_verify"])
def test_a_stop_in_any_step_ends_the_demo_in_order(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], step: str
) -> None:
    real = getattr(demo_run, step)

    def stopped(stage: Any) -> Any:
        stage.stop.request(2)
        return real(stage)

    monkeypatch.setattr(demo_run, step, stopped)
    assert demo() == 130
    captured = capfd.readouterr()
    assert "being cleaned up" in captured.err
    assert "digests are equal" not in captured.out
