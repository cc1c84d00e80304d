"""The page of a mirror, and its answers to probes: from figures, without a mirror and without a socket."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from kcli.core.types import TopicPartition
from kcli.core.version import __version__
from kcli.exporter import mirror_site
from kcli.exporter.exposition import CLASSIC, FORMATS, OPENMETRICS, document
from kcli.exporter.mirror_metrics import METRICS, STATES
from kcli.exporter.mirror_site import MirrorSite
from kcli.flows.mirror.copy.partition_state import State
from kcli.flows.mirror.figures import Figures, Handover, PartitionFigures, Role
from tests.unit.exporter.pages import labels, parsed

DOCUMENT = Path(__file__).parents[3] / "docs" / "mirror.md"


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock, which nobody waits by."""
    clock = [1_000.0]
    monkeypatch.setattr("kcli.flows.mirror.figures.monotonic", lambda: clock[0])
    monkeypatch.setattr("kcli.exporter.mirror_site.monotonic", lambda: clock[0])
    monkeypatch.setattr(mirror_site, "_PATIENCE", 0.0)
    return clock


def partition(
    number: int, state: State = State.COPYING, lag: int | None = 3, seconds: float | None = 1.5
) -> PartitionFigures:
    return PartitionFigures(TopicPartition('o"rders', number), state, lag, seconds, 10, 2_000, number)


def handover(
    now: list[float], *partitions: PartitionFigures, role: Role = Role.HOLDER, **more: object
) -> Handover:
    """One that has figures."""
    made = Handover()
    made.turned(lambda: pytest.fail("nobody has asked"))
    assert made.figures(0.0) is None  # now somebody has
    made.turned(lambda: Figures(now[0], "j", "from", "to", role, partitions=partitions, **more))  # type: ignore[arg-type]
    return made


def text(site: MirrorSite, form: str) -> str:
    return b"".join(document(form, site.parts(form, 1))).decode()


def page(site: MirrorSite, form: str = OPENMETRICS) -> dict[str, dict[frozenset[tuple[str, str]], float]]:
    return parsed(text(site, form), form)


@pytest.mark.parametrize("form", FORMATS)
def test_a_page_has_what_is_known_of_each_partition(now: list[float], form: str) -> None:
    made = handover(
        now,
        partition(0),
        partition(1, State.WAITING, None, None),
        groups=(("billing", 61.2345),),
    )
    now[0] += 4
    found = page(MirrorSite(made), form)
    zero, one = labels(topic='o"rders', partition="0"), labels(topic='o"rders', partition="1")
    assert found["kcli_mirror_lag_records"] == {zero: 3}
    assert found["kcli_mirror_lag_seconds"] == {zero: 1.5}
    assert found["kcli_mirror_records_total"] == {zero: 10, one: 10}
    assert found["kcli_mirror_bytes_total"] == {zero: 2_000, one: 2_000}
    assert found["kcli_mirror_gaps"] == {zero: 0, one: 1}
    assert found["kcli_mirror_lease"] == {labels(): 1}
    assert found["kcli_mirror_age_seconds"] == {labels(): 4}
    assert found["kcli_mirror_idle_seconds"] == {labels(): 4}
    assert found["kcli_mirror_group_sync_age_seconds"] == {labels(group="billing"): 61.234}
    job = labels(mirror_job="j", source_cluster="from", target_cluster="to", version=__version__)
    assert found["kcli_mirror_info"] == {job: 1}
    states = found["kcli_mirror_partition_state"]
    assert {key for key, value in states.items() if value} == {
        labels(topic='o"rders', partition="0", kcli_mirror_partition_state="copying"),
        labels(topic='o"rders', partition="1", kcli_mirror_partition_state="waiting"),
    }
    assert len(states) == 2 * len(STATES)


def test_all_metrics_are_on_a_page_and_no_others(now: list[float]) -> None:
    made = handover(now, partition(0), groups=(("g", 1.0),))
    found = re.findall(r"^# TYPE (\S+) (\S+)$", text(MirrorSite(made), OPENMETRICS), re.M)
    assert sorted(found) == sorted((one.name, one.kind) for one in METRICS)


def test_a_stand_by_has_no_figures_of_partitions(now: list[float]) -> None:
    site = MirrorSite(handover(now, role=Role.STAND_BY, holder="host (pid 7) since then"))
    found = page(site, CLASSIC)
    assert found["kcli_mirror_lease"] == {labels(): 0}
    assert {*found} == {
        "kcli_mirror_info",
        "kcli_mirror_lease",
        "kcli_mirror_age_seconds",
        "kcli_mirror_idle_seconds",
    }
    assert site.state == "Stand-by: job j is run by host (pid 7) since then."


def test_figures_that_nobody_renews_are_not_shown(now: list[float]) -> None:
    site = MirrorSite(handover(now, partition(0)))
    now[0] += 61
    assert {*page(site)} == {"kcli_mirror_idle_seconds"}
    assert site.not_ready() == "there are no figures of the last minute"


def test_the_last_figures_stay_after_the_copy(now: list[float]) -> None:
    made = handover(now, partition(0, State.CAUGHT_UP, 0, 0.0))
    made.rest("the copy has ended")
    now[0] += 1_000
    site = MirrorSite(made)
    assert page(site)["kcli_mirror_age_seconds"] == {labels(): 1_000}
    assert (site.stuck(), site.not_ready()) == ("", "")


def test_before_the_first_turn_it_is_alive_and_not_ready(now: list[float]) -> None:
    site = MirrorSite(Handover())
    now[0] += 1_000
    assert (site.stuck(), site.not_ready()) == ("", "the mirror starts")
    assert {*page(site)} == {"kcli_mirror_idle_seconds"}


def test_it_is_alive_while_its_loop_turns(now: list[float]) -> None:
    made = handover(now, partition(0, State.WAITING))
    site = MirrorSite(made)
    now[0] += mirror_site.STALLED - 1
    assert site.stuck() == ""
    now[0] += 1
    assert site.stuck() == "no turn for 3m"
    made.turned(lambda: Figures(now[0], "j", "from", "to", Role.HOLDER))
    assert site.stuck() == ""


@pytest.mark.parametrize(
    ("states", "role", "holder", "expected"),
    [
        ((State.COPYING, State.CAUGHT_UP), Role.HOLDER, "", ""),
        ((), Role.HOLDER, "", ""),
        ((State.COPYING, State.WAITING), Role.HOLDER, "", ""),
        (
            (State.WAITING, State.WAITING),
            Role.HOLDER,
            "",
            "and 1 more partition are waiting: nothing is copied",
        ),
        ((State.CAUGHT_UP, State.ENDED), Role.HOLDER, "", '"rders-1 is not copied any more'),
        ((), Role.STAND_BY, "somebody", ""),
        ((), Role.STAND_BY, "", "no instance is known to run the job"),
    ],
)
def test_it_is_ready_where_it_does_its_work_or_would_take_over(
    now: list[float], states: Iterable[State], role: Role, holder: str, expected: str
) -> None:
    some = [partition(number, state) for number, state in enumerate(states)]
    found = MirrorSite(handover(now, *some, role=role, holder=holder)).not_ready()
    assert (expected in found) if expected else found == ""


def test_names_are_unique_and_in_the_form_of_prometheus() -> None:
    names = [one.name for one in METRICS]
    assert len(set(names)) == len(names)
    for name in names:
        assert re.fullmatch(r"kcli_mirror(_[a-z]+)*", name)
        assert not name.endswith(("_total", "_sum", "_count", "_bucket", "_info", "_created"))


def test_the_table_in_the_document_is_that_of_the_metrics() -> None:
    rows = re.findall(r"^\| `(kcli_mirror\w*)` \| (\w+) \| (.*?) \| (.*) \|$", DOCUMENT.read_text(), re.M)
    assert rows == [
        (one.name, one.kind, ", ".join(f"`{label}`" for label in one.labels), one.text) for one in METRICS
    ]
