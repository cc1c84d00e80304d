"""What lasts is reported once, and its end."""

from kcli.core.cluster.retry import REPORT_AFTER, StallReporter
from kcli.core.errors import KcliError
from kcli.core.hooks import Hooks
from kcli.core.types import TopicPartition

P0, P1, OTHER = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def rig() -> tuple[StallReporter, list[tuple[str, str]]]:
    said: list[tuple[str, str]] = []
    hooks = Hooks(log=lambda level, _area, text: said.append((level, text)))
    return StallReporter(hooks, "proto"), said


def test_short_waits_are_not_reported() -> None:
    troubles, said = rig()
    for _ in range(5):
        troubles.met(P0, KcliError("no"), 100)
        troubles.met(P0, KcliError("no"), 100 + REPORT_AFTER - 0.1)
        troubles.over(P0)
    assert said == []


def test_what_lasts_is_reported_once_for_a_topic_and_so_is_its_end() -> None:
    troubles, said = rig()
    for now in range(60):
        for tp in (P0, P1, OTHER):
            troubles.met(tp, KcliError(f"{tp}: no"), float(now))
    told = "no; tried for 10 s, and trying on"
    assert said == [("warning", f"t-0: {told}"), ("warning", f"u-0: {told}")]
    said.clear()
    troubles.over(P0)
    assert said == []
    troubles.over(P1)
    assert said == [("info", "topic t: no retries any more")]


def test_another_time_is_reported_again() -> None:
    troubles, said = rig()
    for start in (0, 100):
        troubles.met(P0, KcliError("no"), start)
        troubles.met(P0, KcliError("no"), start + REPORT_AFTER)
        troubles.over(P0)
    assert [level for level, _ in said] == ["warning", "info"] * 2
