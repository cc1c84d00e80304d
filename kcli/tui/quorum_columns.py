"""The table of the replicas of the metadata log."""

from kcli.flows.quorum.standings import BEHIND, LEADER, UNKNOWN, Standing
from kcli.output.tables import Field
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column, fields_of
from kcli.tui.look import SIGNS

_MEANINGS = {BEHIND: "warn", UNKNOWN: "unread"}
_RANKS = {BEHIND: 0, UNKNOWN: 1, LEADER: 2}


def _state(one: Standing) -> Cell:
    meaning = _MEANINGS.get(one.state, "ok")
    return Cell(f"{SIGNS[meaning]} {one.state}", meaning)


def _seconds(seconds: float | None, one: Standing) -> Cell:
    return Cell(figures.ago(None if one.leads else seconds))


COLUMNS: tuple[Column[Standing], ...] = (
    Column(
        "STATE", 11, _state, lambda one: (_RANKS.get(one.state, 3), one.node),
        about="leader: the active controller; behind: it has lacked something of the leader's log for 5 seconds or more",
        data=(
            Field(
                "state", of=lambda one: one.state, values="string",
                meaning="leader, following, behind, or unknown while there is no leader.",
            ),
        ),
    ),
    Column(
        "NODE", 6, lambda one: Cell(str(one.node)), lambda one: one.node, right=True, least=4,
        data=(
            Field("node", "id", of=lambda one: one.node, values="integer", meaning="The node id of the replica."),
        ),
    ),
    Column(
        "ROLE", 9, lambda one: Cell(one.role), lambda one: one.role, drop=2,
        data=(
            Field(
                "role", of=lambda one: one.role, values=("voter", "observer"),
                meaning="voter: a controller; observer: a broker, as a rule.",
            ),
        ),
    ),
    Column(
        "LOG END", 12, lambda one: Cell(figures.offset(one.log_end)), lambda one: one.log_end, drop=4,
        right=True, falling=True,
        data=(
            Field(
                "log_end", "number", of=lambda one: one.log_end,
                meaning="The offset after its last record; null where it is unknown.",
            ),
        ),
    ),
    Column(
        "LAG", 9, lambda one: Cell(figures.count(one.lag)), lambda one: one.lag, right=True, falling=True,
        least=5,
        data=(
            Field(
                "lag_records", "number", of=lambda one: one.lag,
                meaning="Records of the leader's log that it lacks; null where that is unknown.",
            ),
        ),
    ),
    Column(
        "CAUGHT UP", 9, lambda one: _seconds(one.behind, one), lambda one: one.behind, right=True,
        falling=True, drop=1,
        about="how long ago it had all that the leader had, by the leader's clock",
        data=(
            Field(
                "caught_up_seconds", "duration", of=lambda one: one.behind, values="number?",
                meaning="Seconds since it had all that the leader had; null where that is unknown.",
            ),
        ),
    ),
    Column(
        "FETCHED", 9, lambda one: _seconds(one.fetched, one), lambda one: one.fetched, right=True,
        falling=True, drop=3,
        about="how long ago it fetched last, by the leader's clock",
        data=(
            Field(
                "fetched_seconds", "duration", of=lambda one: one.fetched, values="number?",
                meaning="Seconds since it fetched last; null where that is unknown.",
            ),
        ),
    ),
    Column(
        "ENDPOINT", 16, lambda one: Cell(one.endpoint or figures.UNKNOWN), lambda one: one.endpoint or None,
        drop=5, grows=True,
        about="the address of a voter, which brokers report since Kafka 3.9",
        data=(
            Field(
                "endpoint", of=lambda one: one.endpoint or None,
                meaning="Its address as host:port; null where it is unknown.",
            ),
        ),
    ),
)  # fmt: skip
FIELDS = fields_of(COLUMNS)
