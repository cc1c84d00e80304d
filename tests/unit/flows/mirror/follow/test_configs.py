"""Which topics are looked at for changed configurations, and what becomes of a change that fails."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigChange, ConfigEntry, ConfigOp, ConfigResource
from kcli.core.errors import KcliError, TimedOutError
from kcli.flows.mirror.follow.configs import FollowedConfigs
from kcli.flows.mirror.topics.configs import ConfigSync
from kcli.flows.mirror.topics.preflight import Findings, TopicFacts
from kcli.flows.mirror.topics.routes import Route
from kcli.flows.mirror.topics.survey import Survey


class Side:
    """What an admin returns of topics whose own settings are ``own``; ``answers`` to changes, then success."""

    def __init__(self, own: Mapping[str, dict[str, str]]) -> None:
        self.own = own
        self.asked: list[list[str]] = []
        self.changes: list[tuple[str, str, str | None, ConfigOp]] = []
        self.answers: list[KcliError] = []

    def describe_topic_configs(self, names: Sequence[str]) -> dict[str, Any]:
        self.asked.append(list(names))
        return {
            name: [
                ConfigEntry(key, value, "topic", is_sensitive=False) for key, value in self.own[name].items()
            ]
            for name in names
        }

    def alter_configs(self, changes: Mapping[ConfigResource, Sequence[ConfigChange]]) -> dict[Any, Any]:
        (resource,) = changes
        self.changes += [(resource.name, one.name, one.value, one.op) for one in changes[resource]]
        return {resource: self.answers.pop(0) if self.answers else None}


def followed(source: Side, target: Side, mode: str = "topic") -> FollowedConfigs:
    routes = [Route(name, f"{name}-copy") for name in source.own]
    facts = {name: TopicFacts("id", 1, 1, dict(own), dict(own)) for name, own in source.own.items()}
    found = Survey("a", "b", routes, facts, {}, Findings([], [], [], [], {}, {}, [], {}), 1)
    topics = dict(routes)
    return FollowedConfigs(cast(Admin, source), cast(Admin, target), ConfigSync(mode), found, lambda: topics)


def test_many_topics_are_looked_at_in_turn() -> None:
    names = [f"t{number:03}" for number in range(250)]
    source, target = Side({name: {"retention.ms": "5"} for name in names}), Side({})
    configs = followed(source, target)
    for _ in range(4):
        configs.look()
    assert [one for asked in source.asked[:3] for one in asked] == names
    assert source.asked[3] == names[:100]
    assert not target.asked


def test_a_change_is_made_once_and_tried_again_where_it_may_succeed_later() -> None:
    source, target = Side({"t": {"retention.ms": "5"}}), Side({"t-copy": {"retention.ms": "5"}})
    configs = followed(source, target)
    assert configs.look() == ([], [], [], [])
    source.own["t"]["retention.ms"] = "6"
    late = TimedOutError("too late")
    target.answers = [late]
    assert configs.look().delayed == [late]
    assert configs.look().made == ["t → t-copy: changed as on the source: retention.ms=6"]
    assert configs.look() == ([], [], [], [])
    assert target.changes == [("t-copy", "retention.ms", "6", ConfigOp.SET)] * 2
    del source.own["t"]["retention.ms"]
    assert configs.look().made == ["t → t-copy: changed as on the source: retention.ms is not set any more"]
    assert target.changes[-1] == ("t-copy", "retention.ms", None, ConfigOp.DELETE)


def test_a_refused_change_is_reported_once() -> None:
    source, target = Side({"t": {"retention.ms": "5"}}), Side({"t-copy": {}})
    configs = followed(source, target)
    source.own["t"]["retention.ms"] = "6"
    target.answers = [KcliError("no", why="a policy")]
    (error,) = configs.look().refused
    assert (error.what, error.why) == (
        "topic t-copy of the target cannot be changed as t was: retention.ms=6",
        "a policy",
    )
    assert configs.look() == ([], [], [], [])


def test_off_changes_nothing() -> None:
    source, target = Side({"t": {"retention.ms": "5"}}), Side({"t-copy": {}})
    configs = followed(source, target, "off")
    source.own["t"]["retention.ms"] = "6"
    assert configs.look().left == [
        "t of the source has changed, t-copy has not (--sync-configs off): retention.ms=6"
    ]
    assert configs.look() == ([], [], [], [])
    assert not target.changes
