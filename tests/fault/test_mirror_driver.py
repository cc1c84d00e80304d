"""The driver of a mirror without a command: what its observer decides and sees, and what its result says."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.hooks import Hooks
from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from kcli.core.types import TopicPartition
from kcli.flows.mirror.plan.plan import CopyPlan
from kcli.flows.mirror.result import Result, mismatches
from kcli.flows.mirror.run import Mirror
from kcli.flows.mirror.settings import MirrorSettings
from kcli.flows.mirror.topics.preflight import Login
from kcli.flows.mirror.verification import Verification
from kcli.flows.stop import Stop
from kcli.output.progress import Progress
from kcli.output.talk import Talk
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.fault.mirror_command import stored, values

T0 = TopicPartition("t", 0)
ONCE = MirrorSettings(topics=("t",), job="j", exactly_once=True, until_caught_up=True)


class Side:
    """A fake cluster as a side of a mirror."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.servers = cluster.bootstrap

    def options(self, kind: Any, **own: Any) -> Any:
        return kind(bootstrap_servers=self.servers, **own)


class Service:
    """An observer without a terminal."""

    dry_run = may_fill = False

    def __init__(self, *, begins: bool = True) -> None:
        self.begins = begins
        self.plans: list[CopyPlan] = []
        self.lines: list[str] = []
        self.failures: list[KcliError] = []
        self.note = self.warn = self.detail = self.lines.append

    def may_begin(self, plan: CopyPlan) -> bool:
        self.plans.append(plan)
        if error := plan.refusal(Login("-b a", "me"), Login("-b b", "me")):
            raise error
        return self.begins

    def contact(self, servers: str) -> AbstractContextManager[None]:
        return nullcontext()

    def progress(self, title: str) -> Progress:
        return Progress(Talk(quiet=True, verbose=0, color=None, environ={}), title, style="none")

    def failed(self, error: KcliError, *, partly: bool = False) -> None:
        self.failures.append(error)


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 1}) as made:
        made.append("t", 0, batch(b"1", b"2", b"3"))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={}, cluster_id="there") as made:
        yield made


def driver(source: FakeCluster, target: FakeCluster, settings: MirrorSettings, service: Service) -> Mirror:
    return Mirror(settings, Side(source), Side(target), service, hooks=Hooks(), timeout=10.0)


def copied(source: FakeCluster, target: FakeCluster, settings: MirrorSettings = ONCE) -> Result:
    with driver(source, target, settings, Service()) as mirror:
        assert mirror.prepare()
        with Stop() as stop:
            return mirror.copy(stop)


def test_nothing_is_created_or_fenced_where_the_observer_declines(
    source: FakeCluster, target: FakeCluster
) -> None:
    service = Service(begins=False)
    with driver(source, target, ONCE, service) as mirror:
        assert not mirror.prepare()
    (plan,) = service.plans
    assert (plan.job, plan.exactly_once, plan.own, plan.filled) == ("j", True, {}, [])
    assert [spec.name for spec in plan.found.findings.create] == ["t"]
    assert not [one for one in target.seen(CreateTopicsRequest) if not one.request.validate_only]
    assert not target.seen(InitProducerIdRequest)


def test_a_run_copies_and_the_next_one_resumes(source: FakeCluster, target: FakeCluster) -> None:
    result = copied(source, target)
    assert (result.job, result.done, [*result.failures()]) == ("j", True, [])
    assert [(copy.source_end, copy.lag, copy.state.state) for copy in result.copies] == [(3, 0, "caught_up")]
    assert values(target, "t") == [b"1", b"2", b"3"]
    source.append("t", 0, batch(b"4"))
    (copy,) = copied(source, target).copies
    assert (copy.started_at, copy.position, copy.records) == (3, 4, 1)
    assert stored(target, "t") == stored(source, "t")


def test_the_proof_is_part_of_the_result(source: FakeCluster, target: FakeCluster) -> None:
    assert copied(source, target).done
    target.append("t", 0, batch(b"of somebody else"))
    comparing = MirrorSettings(topics=("t",), job="j")
    sides = Side(source), Side(target)
    with (
        Verification(comparing, *sides, Service(), hooks=Hooks(), timeout=10.0) as verification,
        Stop() as stop,
    ):
        assert verification.prepare()
        (found,) = verification.compare(stop).comparisons
    (failure,) = mismatches(found)
    assert (failure.exit_code, failure.why) == (ExitCode.CHECK, "the source has no such record")
    assert not found.equal


def test_topics_with_records_of_somebody_else_are_in_the_plan(
    source: FakeCluster, target: FakeCluster
) -> None:
    target.create_topic("t", 1)
    target.append("t", 0, batch(b"older"))
    service = Service(begins=False)
    with driver(source, target, ONCE, service) as mirror:
        mirror.prepare()
    assert service.plans[0].filled == ["t"]


def test_a_stop_before_the_first_record_leaves_a_job_that_the_next_run_continues(
    source: FakeCluster, target: FakeCluster
) -> None:
    with driver(source, target, ONCE, Service()) as mirror:
        mirror.prepare()
        with Stop() as stop:
            stop.request()
            result = mirror.copy(stop)
    assert [*result.failures()] == []
    (copy,) = copied(source, target).copies
    assert (copy.started_at, copy.position) == (result.copies[0].position, 3)
    assert values(target, "t") == [b"1", b"2", b"3"]
