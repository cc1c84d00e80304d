"""Topics by name: an outcome for each, and a retry of what can be helped as a whole."""

from typing import Any

import pytest

from kcli.core.admin.topic_changes import create_topics, delete_topics
from kcli.core.admin.topics import describe_topics, id_text
from kcli.core.cluster.metadata import unknown_topic
from kcli.core.errors import (
    BrokerError,
    ConnectError,
    KcliError,
    NotFoundError,
    OutcomeUnknownError,
    TimedOutError,
)
from kcli.core.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kcli.core.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.types import TopicSpec
from tests.unit.core.cluster.scripted import (
    ScriptedBrokers,
    answer,
    cluster_on,
    metadata_of,
    partition,
    topic,
)

ORDERS, PAYMENTS = topic("orders", partition(0)), topic("payments", partition(0))


def created(**codes: int) -> CreateTopicsResponse:
    rows = [
        CreatableTopicResult(name=n, error_code=c, error_message="said" if c else None)
        for n, c in codes.items()
    ]
    return CreateTopicsResponse(topics=rows)


def deleted(**codes: int) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=[DeletableTopicResult(name=n, error_code=c) for n, c in codes.items()]
    )


def rig(
    monkeypatch: pytest.MonkeyPatch, *answers: Any, metadata: Any = None
) -> tuple[Any, ScriptedBrokers, Any]:
    left = list(answers)
    known = metadata or metadata_of(ORDERS, PAYMENTS)

    def script(node: Any, request: Any) -> Any:
        return known(node, request) if isinstance(request, MetadataRequest) else left.pop(0)

    cluster, brokers, clock = cluster_on(monkeypatch, script)
    cluster.connect(5)
    return cluster, brokers, clock


def create(cluster: Any, clock: Any, *names: str, **how: Any) -> Any:
    specs = [TopicSpec(name, 3, 2, {"retention.ms": "5"}) for name in names]
    return create_topics(cluster, specs, clock() + 10, **{"validate_only": False, **how})


def delete(cluster: Any, clock: Any, *names: str) -> Any:
    return delete_topics(cluster, names, clock() + 10)


def test_topics_are_created_by_the_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = rig(monkeypatch, created(a=0, b=0))
    assert create(cluster, clock, "a", "b", validate_only=True) == {"a": None, "b": None}
    [(_, node, request)] = brokers.asked(CreateTopicsRequest)
    assert node.id == 1
    assert [(t.name, t.num_partitions, t.replication_factor) for t in request.topics] == [
        ("a", 3, 2),
        ("b", 3, 2),
    ]  # type: ignore[attr-defined]
    assert [(c.name, c.value) for c in request.topics[0].configs] == [("retention.ms", "5")]  # type: ignore[attr-defined]
    assert request.validate_only  # type: ignore[attr-defined]
    assert 0 < request.timeout_ms <= 10_000  # type: ignore[attr-defined]


def test_each_name_has_its_own_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _, clock = rig(monkeypatch, created(a=0, b=36, c=17))
    found = create(cluster, clock, "a", "b", "c")
    assert found["a"] is None
    assert (found["b"].code, found["c"].code) == (36, 17)
    assert "said" in str(found["c"])


def test_a_name_that_the_answer_leaves_out_has_not_succeeded(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _, clock = rig(monkeypatch, created(a=0))
    assert isinstance(create(cluster, clock, "a", "b")["b"], BrokerError)


def test_when_all_errors_are_retriable_all_are_requested_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = rig(monkeypatch, created(a=41, b=41), ConnectError("gone"), created(a=0, b=0))
    assert create(cluster, clock, "a", "b") == {"a": None, "b": None}
    assert len(brokers.asked(CreateTopicsRequest)) == 3


def test_what_was_done_is_not_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = rig(monkeypatch, created(a=0, b=41), created(b=0))
    assert create(cluster, clock, "a", "b") == {"a": None, "b": None}
    asked = [[t.name for t in request.topics] for _, _, request in brokers.asked(CreateTopicsRequest)]  # type: ignore[attr-defined]
    assert asked == [["a", "b"], ["b"]]


def test_what_the_controller_did_after_its_time_was_up_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _, clock = rig(monkeypatch, created(a=36, b=7), created(b=36))
    found = create(cluster, clock, "a", "b")
    assert found["b"] is None
    assert isinstance(found["a"], BrokerError)  # it was there before


def test_at_the_deadline_what_was_done_and_what_was_not_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _, clock = rig(monkeypatch, created(a=0, b=41), *[created(b=41)] * 50)
    found = create(cluster, clock, "a", "b")
    assert found["a"] is None
    assert isinstance(found["b"], TimedOutError)
    assert found["b"].what.startswith("could not create topic b: gave up after ")
    assert "NOT_CONTROLLER" in found["b"].why


@pytest.mark.parametrize(
    ("names", "said"), [(("a",), "topic a: gave up"), (("a", "b"), "topics a, b: gave up")]
)
def test_topics_without_a_response_are_named(
    monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], said: str
) -> None:
    for done, call, codes in (("create", create, created), ("delete", delete, deleted)):
        cluster, _, clock = rig(monkeypatch, *[codes(**dict.fromkeys(names, 41))] * 50)
        with pytest.raises(TimedOutError, match=f"^could not {done} {said} after"):
            call(cluster, clock, *names)


@pytest.mark.parametrize("names", [("a",), ("a", "b")])
@pytest.mark.parametrize("lost", [[7, 41], [7], [OutcomeUnknownError("lost"), 41]], ids=str)
def test_what_the_controller_may_have_done_is_not_called_failed_only(
    monkeypatch: pytest.MonkeyPatch, lost: list[Any], names: tuple[str, ...]
) -> None:
    """Error 7, and a connection that breaks, leave it open, whatever the attempts after them are answered."""
    for call, codes in ((create, created), (delete, deleted)):
        script = [
            codes(a=one, **dict.fromkeys(names[1:], 0)) if isinstance(one, int) else one for one in lost
        ]
        cluster, _, clock = rig(
            monkeypatch, *script, *[codes(a=lost[-1], **dict.fromkeys(names[1:], 0))] * 50
        )
        try:
            error = call(cluster, clock, *names)["a"]
        except KcliError as caught:  # of all names
            error = caught
        assert error.why.endswith("; the controller may have done it nevertheless")


@pytest.mark.parametrize(("code", "how"), [(41, {}), (7, {"validate_only": True})])
def test_what_was_refused_or_only_validated_was_not_done(
    monkeypatch: pytest.MonkeyPatch, code: int, how: dict[str, Any]
) -> None:
    cluster, _, clock = rig(monkeypatch, *[created(a=code)] * 50)
    with pytest.raises(KcliError) as caught:
        create(cluster, clock, "a", **how)
    assert "nevertheless" not in caught.value.why


def test_topics_are_deleted_by_name_in_every_version(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, brokers, clock = rig(monkeypatch, deleted(a=0, b=3, c=29))
    found = delete_topics(cluster, ["a", "b", "c"], clock() + 10)
    assert found["a"] is None
    assert isinstance(found["b"], NotFoundError)
    assert isinstance(found["c"], BrokerError)
    assert found["c"].exit_code == 4
    [(_, _, request)] = brokers.asked(DeleteTopicsRequest)
    assert request.topic_names == ["a", "b", "c"]  # type: ignore[attr-defined]
    assert [t.name for t in request.topics] == ["a", "b", "c"]  # type: ignore[attr-defined]


def test_described_topics_or_the_nearest_names(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, _, clock = rig(monkeypatch)
    found: Any = describe_topics(cluster, ["orders", "paiments", "zzz"], clock() + 10)
    assert (found["orders"].name, len(found["orders"].partitions)) == ("orders", 1)
    assert isinstance(found["paiments"], NotFoundError)
    assert "payments" in found["paiments"].do
    assert "topics list" in found["zzz"].do


def test_a_topic_that_may_not_be_seen_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = topic("secret", error=29)
    cluster, _, clock = rig(monkeypatch, metadata=lambda *_: answer(secret))
    found = describe_topics(cluster, ["secret"], clock() + 10)["secret"]
    assert isinstance(found, KcliError)
    assert "TOPIC_AUTHORIZATION_FAILED" in str(found)


def test_ids_are_spelled_like_kafka_does() -> None:
    assert id_text(bytes(16)) == ""
    assert id_text(bytes(range(16))) == "AAECAwQFBgcICQoLDA0ODw"
    assert id_text(b"\xff" * 16) == "_____________________w"


def test_an_unknown_topic_is_an_ordinary_error() -> None:
    assert unknown_topic("t", []).exit_code == 1
