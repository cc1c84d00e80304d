"""What ``kcli exporter`` does: first contact, then samples and scrapes until a signal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any

from kcli.commands.shared.cluster import admin_options, connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import orderly_end
from kcli.commands.shared.usage import usage
from kcli.core.admin.admin import Admin
from kcli.core.errors import ConfigError, ConnectError, NotKafkaError, TimedOutError
from kcli.core.extras import installation
from kcli.core.hooks import Hooks
from kcli.core.options import ClientOptions
from kcli.exporter.address import Address, parse_address
from kcli.exporter.loop import Loop
from kcli.exporter.readiness import READY, STOPPING, notify
from kcli.exporter.tls import ServerTls
from kcli.exporter.users import Users
from kcli.flows.lag.measure import EXACT
from kcli.flows.lag.sample import Wanted
from kcli.flows.monitor.ages import USUAL, Lookups
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.monitor import Monitor
from kcli.output.sanitise import visible_line

SHORTEST, LONGEST = 1.0, 3_600.0
"""Seconds between two samples."""
_ESTIMATES = Lookups(most=100_000, again_ms=0)
"""With every sample, and for more than are in 2,000 groups with 20 partitions each: that is 0.5 s of CPU time."""


def run(inv: Invocation, flags: dict[str, Any]) -> int:
    """Ends by a signal only: SystemExit or KeyboardInterrupt."""
    _check(flags)
    address = parse_address(flags["listen"])
    wanted = Wanted(
        accepts_group=_pattern("--groups", flags["groups"]),
        accepts_topic=_pattern("--topics", flags["topics"]),
    )
    try:
        from kcli.exporter.server import Server  # an optional extra
    except ImportError as error:
        if not (error.name or "").startswith("prometheus_client"):
            raise
        raise ConfigError(
            "kcli exporter needs prometheus-client", why="it is not installed", do=installation("exporter")
        ) from None
    warn = inv.talk.warn
    users = Users(flags["users"], warn) if flags["users"] is not None else None
    tls = None
    if flags["tls_certificate"] is not None:
        tls = ServerTls(flags["tls_certificate"], flags["tls_key"], flags["tls_client_ca"], warn)
    options = admin_options(inv)
    lookups = USUAL if flags["time"] == EXACT else _ESTIMATES
    loop = Loop(
        lambda: _monitor(inv, options, wanted, lookups),
        interval=flags["interval"],
        time=flags["time"],
        most=flags["max_series"],
        warn=lambda text: inv.talk.write(visible_line(f"warning: {text}")),
    )
    with orderly_end():
        server = Server(address, lambda: loop.state, tls=tls, users=users)
        try:
            _first_contact(inv)
            _warn_of_strangers(inv, address, tls=tls is not None, users=users is not None)
            server.start()
            inv.out.text(f"{server.url}\n")
            inv.out.flush()
            loop.start()
            loop.first.wait()
            notify(READY)
            loop.ended.wait()
        finally:
            notify(STOPPING)
            server.close()
            loop.close()
    assert loop.error is not None  # nothing else ends it
    raise loop.error


def _check(flags: dict[str, Any]) -> None:
    if not SHORTEST <= flags["interval"] <= LONGEST:
        raise usage(
            "exporter: --interval must be from 1s to 1h",
            why="each sample sends requests to the brokers"
            if flags["interval"] < SHORTEST
            else "older figures are of no use to an alert",
            do="--interval 15s",
        )
    for name in ("tls_key", "tls_client_ca"):
        if flags[name] is not None and flags["tls_certificate"] is None:
            raise usage(
                f"exporter: --{name.replace('_', '-')} without --tls-certificate",
                why="a server needs a certificate of its own for TLS",
                do="add --tls-certificate FILE",
            )


def _pattern(flag: str, text: str | None) -> Callable[[str], bool] | None:
    """Whether a whole name matches."""
    if text is None:
        return None
    try:
        pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigError(
            f"{flag} {text} is not a regular expression",
            why=str(error),
            do=f"for example: {flag} 'billing-.*'",
        ) from None
    return lambda name: pattern.fullmatch(name) is not None


def _first_contact(inv: Invocation) -> None:
    """A cluster that is away may come back; everything else that is wrong ends the command."""
    try:
        with open_admin(inv) as admin:
            connect(inv, admin)
    except NotKafkaError:
        raise
    except (ConnectError, TimedOutError) as error:
        inv.talk.warn(f"no cluster yet, trying again: {error}")


@contextmanager
def _monitor(inv: Invocation, options: ClientOptions, wanted: Wanted, lookups: Lookups) -> Iterator[Monitor]:
    """Warnings of the clients are shown with -v: what is missing is reported once, by the loop."""
    log = inv.hooks.log
    quiet = Hooks(
        lambda level, area, text: log("info" if level == "warning" else level, area, text), inv.hooks.wire
    )
    latencies = Latencies(quiet)
    with Admin(options, latencies.hooks, timeout=inv.timeout) as admin:
        yield Monitor(admin, latencies, wanted, lookups=lookups)


def _warn_of_strangers(inv: Invocation, address: Address, *, tls: bool, users: bool) -> None:
    if _is_loopback(address.host):
        return
    if users and not tls:
        inv.talk.warn("passwords cross the network readable: --tls-certificate encrypts them")
    elif not users:
        inv.talk.warn(
            "any client that reaches this address can read the figures, unless --users or --tls-client-ca is given"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"
