"""A replica of the metadata log as a row, and the quorum in a few lines. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcli.flows.quorum.majority import Majority, majority_of
from kcli.flows.quorum.standings import (
    BEHIND,
    FOLLOWING,
    LEADER,
    OBSERVER,
    UNKNOWN,
    VOTER,
    Standing,
    known,
    standings,
)
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column

if TYPE_CHECKING:
    from kcli.core.admin.quorum import QuorumDescription

NODE = Column("node", "id", values="integer", meaning="Node id of the controller or broker.")
ROLE = Column(
    "role",
    values=(VOTER, OBSERVER),
    meaning="voter: a controller that elects the leader and may become it; observer: it only reads, as brokers do.",
)
DIRECTORY_ID = Column(
    "directory_id",
    wide=True,
    values="string?",
    meaning="Id of the directory of its metadata log; null where it has none, or brokers do not report it (Kafka 3.9).",
)
ENDPOINTS = Column(
    "endpoints",
    "prose",
    spare=2,
    values="strings",
    meaning="Where it listens as a controller, as LISTENER://HOST:PORT; empty where that is not known.",
)
COLUMNS = (
    NODE,
    ROLE,
    Column(
        "state",
        values=(LEADER, FOLLOWING, BEHIND, UNKNOWN),
        meaning="leader: the active controller; behind: it has lacked something of the leader's log for 5 seconds or "
        "more; unknown while there is no leader.",
    ),
    Column(
        "log_end",
        "number",
        spare=4,
        values="count?",
        meaning="Offset after its last record; null if unknown.",
    ),
    Column(
        "lag_records",
        "number",
        values="count?",
        meaning="Records of the leader's log that it lacks; null where that is unknown.",
    ),
    Column(
        "caught_up_seconds",
        "duration",
        spare=1,
        values="number?",
        meaning="Seconds since it had all that the leader had; null where that is unknown, before Kafka 3.4.",
    ),
    Column(
        "fetched_seconds",
        "duration",
        spare=3,
        values="number?",
        meaning="Seconds since it fetched last; null where that is unknown, before Kafka 3.4.",
    ),
    ENDPOINTS,
    DIRECTORY_ID,
)
WATCHED = (Column("at", values="time", sometimes=True, meaning="When it was read; only with --watch."),)
HEAD = (
    Column("leader", "id", values="integer?", meaning="Node id of the active controller; null without one."),
    Column("leader_epoch", "id", values="integer", meaning="Number of elections so far."),
    Column("high_watermark", "number", values="count?", meaning="Offset below which all is committed."),
    Column(
        "kraft_version",
        "id",
        values="integer?",
        meaning="1 or higher: voters can be added and removed; null where brokers do not report it.",
    ),
    Column("voters", values="integers", meaning="Node ids of the voters."),
    Column("observers", values="integers", meaning="Node ids of the observers."),
    Column("majority", "number", values="count", meaning="How many voters are needed to commit anything."),
    Column("caught_up_voters", values="integers", meaning="Those of the voters that are not behind."),
)


def replica_rows(quorum: QuorumDescription) -> list[dict[str, Any]]:
    """The values of ``COLUMNS`` for the voters, then the observers."""
    directories = {(one.node, one.is_voter): one.directory_id for one in quorum.replicas}
    return [_row(one, quorum, directories[one.node, one.role == VOTER]) for one in standings(quorum)]


def _row(one: Standing, quorum: QuorumDescription, directory_id: str) -> dict[str, Any]:
    return {
        "node": one.node,
        "role": one.role,
        "state": one.state,
        "log_end": one.log_end,
        "lag_records": one.lag,
        "caught_up_seconds": one.behind,
        "fetched_seconds": one.fetched,
        "endpoints": [str(endpoint) for endpoint in quorum.listeners.get(one.node, ())],
        "directory_id": directory_id or None,
    }


def quorum_fields(quorum: QuorumDescription, kraft_version: int | None) -> dict[str, Any]:
    """The values of ``HEAD``."""
    found = majority_of(quorum)
    return {
        "leader": known(quorum.leader),
        "leader_epoch": quorum.leader_epoch,
        "high_watermark": known(quorum.high_watermark),
        "kraft_version": kraft_version,
        "voters": list(quorum.voters),
        "observers": [one.node for one in quorum.replicas if not one.is_voter],
        "majority": found.needed,
        "caught_up_voters": sorted(found.caught_up),
    }


def heading(cluster: str, quorum: QuorumDescription, kraft_version: int | None) -> str:
    """The quorum for people."""
    leader = known(quorum.leader)
    high = known(quorum.high_watermark)
    kind = "" if kraft_version is None else "dynamic, " if kraft_version > 0 else "static, "
    first = [
        f"leader {'unknown' if leader is None else leader}",
        f"epoch {quorum.leader_epoch}",
        f"high watermark {'unknown' if high is None else f'{high:,}'}",
    ]
    found = majority_of(quorum)
    return (
        f"quorum of cluster {visible_line(cluster) or '-'}\n  {', '.join(first)}\n"
        f"  {kind}{counted(len(quorum.voters), 'voter')}: {words(found)}\n"
    )


def words(found: Majority) -> str:
    """``a majority is 2, 3 are caught up: 1 may fail``."""
    spare = found.spare
    may = (
        "a majority is not caught up"
        if spare < 0
        else f"{spare} of these may fail"
        if spare
        else "none may fail"
    )
    return f"a majority is {found.needed}, {len(found.caught_up)} caught up: {may}"
