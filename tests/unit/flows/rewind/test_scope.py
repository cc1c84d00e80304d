"""Which topics and partitions are rewound."""

import pytest

from kcli.core.errors import ConfigError, NotFoundError
from kcli.core.types import TopicPartition
from kcli.flows.rewind.scope import Scope, parse_topics

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["a"], {"a": None}),
        (["a:0"], {"a": frozenset([0])}),
        (["a:0,2-4", "b"], {"a": frozenset([0, 2, 3, 4]), "b": None}),
        (["a:0", "a:1"], {"a": frozenset([0, 1])}),
        (["a:0", "a"], {"a": None}),
    ],
)
def test_topics(words: list[str], found: dict[str, frozenset[int] | None]) -> None:
    assert parse_topics(words) == found


@pytest.mark.parametrize("word", [":0", "a:", "a:x", "a:4-2", "a:0,,1", "a:0-999999999"])
def test_invalid_words(word: str) -> None:
    with pytest.raises(ValueError, match="orders"):
        parse_topics([word])


@pytest.mark.parametrize(
    ("scope", "committed", "given", "names"),
    [
        (Scope(), [A0, A1], [], ["a"]),
        (Scope(all_topics=True), [B0, A0], [], ["a", "b"]),
        (Scope(excluded=frozenset("b")), [A0, B0], [], ["a"]),
        (Scope(excluded=frozenset("b"), all_topics=True), [A0, B0], [], ["a"]),
        (Scope({"c": None}), [A0, B0], [], ["c"]),
        (Scope(), [], [A0, B0], ["a", "b"]),
        (Scope({"a": frozenset([0])}), [], [A0, B0], ["a"]),
        (Scope(excluded=frozenset("a")), [], [A0, B0], ["b"]),
    ],
)
def test_names(
    scope: Scope, committed: list[TopicPartition], given: list[TopicPartition], names: list[str]
) -> None:
    assert scope.names("g", committed, given) == names


@pytest.mark.parametrize(
    ("committed", "said"), [([A0, B0], "a, b"), ([], "topics that it reads are therefore not known")]
)
def test_it_has_to_be_clear(committed: list[TopicPartition], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Scope().names("g", committed, [])
    assert said in refused.value.why
    assert "--topic" in refused.value.do


def test_positions_as_users_write_them() -> None:
    named = Scope({"a": frozenset([0, 7])})
    assert Scope().partitions("a", [1, 0], [A0]) == [A0, A1]
    assert Scope().partitions("a", [1, 0], [A0], committed_only=True) == [A0]
    assert named.partitions("a", [1, 0], [A1], committed_only=True) == [A0, TopicPartition("a", 7)]
    assert named.partitions("a", [1, 0], [], given=[A1, A0, B0]) == [A0]


@pytest.mark.parametrize(
    ("scope", "committed", "given"),
    [
        (Scope({"a": frozenset([1])}), [], [A0, B0]),
        (Scope({"c": None}), [], [A0]),
        (Scope({"a": None}, frozenset("a")), [A0], []),
        (Scope(excluded=frozenset("ab"), all_topics=True), [A0, B0], []),
        (Scope(all_topics=True), [], []),
    ],
)
def test_a_scope_that_leaves_nothing_is_an_error(
    scope: Scope, committed: list[TopicPartition], given: list[TopicPartition]
) -> None:
    with pytest.raises(ConfigError, match="group g"):
        scope.names("g", committed, given)


def test_a_topic_that_is_left_out_must_be_there() -> None:
    Scope(excluded=frozenset(["a", "b"])).check_excluded([A0, B0])
    Scope({"c": None}, excluded=frozenset("c")).check_excluded([])
    with pytest.raises(NotFoundError) as refused:
        Scope(excluded=frozenset(["ordrs"])).check_excluded([TopicPartition("orders", 0), A0])
    assert refused.value.do == "did you mean orders?"
    with pytest.raises(NotFoundError) as refused:
        Scope(excluded=frozenset("x")).check_excluded([B0, A0])
    assert refused.value.do == "the topics are a, b"
