"""The table of brokers."""

from kcli.flows.cluster_state import ONLINE
from kcli.flows.monitor.snapshot import BrokerLine
from kcli.output.tables import Field
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column, fields_of
from kcli.tui.look import SIGNS


def _state(line: BrokerLine) -> Cell:
    state = line.broker.state
    if state == ONLINE:
        return Cell(f"{SIGNS['ok']} {state}" + (", controller" if line.controller else ""))
    return Cell(f"{SIGNS['bad']} {state}", "bad")


def _host(line: BrokerLine) -> str:
    node = line.broker.node
    return figures.UNKNOWN if node is None else f"{node.host}:{node.port}"


def _count(line: BrokerLine, number: int) -> Cell:
    return Cell(f"{number:,}" if line.counted else figures.UNKNOWN)


def _behind(line: BrokerLine) -> Cell:
    number = line.broker.under_replicated
    return Cell(f"{number:,}", "bad" if number else "ok") if line.counted else Cell(figures.UNKNOWN)


def _ms(time: float | None) -> Cell:
    return Cell(figures.UNKNOWN if time is None else f"{time:.1f} ms")


COLUMNS: tuple[Column[BrokerLine], ...] = (
    Column(
        "ID", 6, lambda one: Cell(str(one.broker.number)), lambda one: one.broker.number, right=True,
        least=2,
        data=(
            Field(
                "broker", "id", of=lambda one: one.broker.number, values="integer",
                meaning="The broker's number.",
            ),
        ),
    ),
    Column(
        "HOST", 16, lambda one: Cell(_host(one)), _host, grows=True, least=6,
        about="its advertised address",
        data=(
            Field(
                "host", of=lambda one: one.broker.node and one.broker.node.host,
                meaning="Its host; null where it is unknown.",
            ),
            Field(
                "port", "id", of=lambda one: one.broker.node and one.broker.node.port,
                meaning="Its port; null where it is unknown.",
            ),
        ),
    ),
    Column(
        "RACK", 6, lambda one: Cell((one.broker.node.rack if one.broker.node else None) or ""),
        lambda one: one.broker.node.rack if one.broker.node else None, drop=5, grows=True,
        data=(
            Field(
                "rack", of=lambda one: one.broker.node.rack if one.broker.node else None,
                meaning="Its rack; null where it has none.",
            ),
        ),
    ),
    Column(
        "STATE", 20, _state, lambda one: one.broker.state, least=6,
        data=(
            Field(
                "state", of=lambda one: one.broker.state, values="string",
                meaning="online, fenced, missing: only replica lists name it; or unknown: log directories are read.",
            ),
            Field(
                "controller", of=lambda one: one.controller, values="boolean",
                meaning="Whether it is the controller.",
            ),
        ),
    ),
    Column(
        "LEADERS", 8, lambda one: _count(one, one.broker.leaders), lambda one: one.broker.leaders, drop=2,
        right=True, falling=True,
        data=(
            Field(
                "leaders", "number", of=lambda one: one.broker.leaders if one.counted else None,
                meaning="Partitions that it leads; null where it is unknown.",
            ),
        ),
    ),
    Column(
        "REPLICAS", 9, lambda one: _count(one, one.broker.replicas), lambda one: one.broker.replicas, drop=3,
        right=True, falling=True,
        data=(
            Field(
                "replicas", "number", of=lambda one: one.broker.replicas if one.counted else None,
                meaning="Replicas on it; null where it is unknown.",
            ),
        ),
    ),
    Column(
        "NOT IN SYNC", 11, _behind, lambda one: one.broker.under_replicated, drop=1, right=True,
        falling=True,
        about="of these, how many are not in sync",
        data=(
            Field(
                "not_in_sync", "number", of=lambda one: one.broker.under_replicated if one.counted else None,
                meaning="Replicas that are not in sync; null where it is unknown.",
            ),
        ),
    ),
    Column(
        "REQUESTS", 9,
        lambda one: Cell(figures.UNKNOWN if one.latency is None else str(one.latency.requests)),
        lambda one: one.latency and one.latency.requests, drop=4, right=True, falling=True,
        data=(
            Field(
                "requests", "number", of=lambda one: one.latency and one.latency.requests,
                meaning="Requests that kcli sent to it for the last reading; null where there was none.",
            ),
        ),
    ),
    Column(
        "LATENCY", 10, lambda one: _ms(one.latency and one.latency.mean_ms),
        lambda one: one.latency and one.latency.mean_ms, right=True, falling=True, least=8,
        about="mean time until it answered, as seen from here",
        data=(
            Field(
                "latency_mean_ms", "number", of=lambda one: one.latency and one.latency.mean_ms, digits=3,
                values="number?", meaning="Their mean latency in milliseconds.",
            ),
        ),
    ),
    Column(
        "MAX", 10, lambda one: _ms(one.latency and one.latency.max_ms),
        lambda one: one.latency and one.latency.max_ms, drop=6, right=True, falling=True,
        about="the longest of them",
        data=(
            Field(
                "latency_max_ms", "number", of=lambda one: one.latency and one.latency.max_ms, digits=3,
                values="number?", meaning="Their largest latency in milliseconds.",
            ),
        ),
    ),
)  # fmt: skip
FIELDS = fields_of(COLUMNS)
