"""What ``kcli exporter`` does: first contact, then samples and scrapes until a signal."""

from __future__ import annotations

import re
from collections.abc import Callable

from kcli.commands.exporter.options import ExporterOptions
from kcli.commands.shared.cluster import admin_options, connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import orderly_end
from kcli.core.errors import ConfigError, ConnectError, NotKafkaError, TimedOutError
from kcli.core.extras import installation
from kcli.exporter.address import Address, parse_address
from kcli.exporter.loop import Loop, open_monitor
from kcli.exporter.tls import ServerTls
from kcli.exporter.users import Users
from kcli.flows.lag.measure import EXACT
from kcli.flows.lag.sample import Wanted
from kcli.flows.monitor.ages import USUAL, Lookups
from kcli.output.sanitise import visible_line

_ESTIMATES = Lookups(most=100_000, again_ms=0)
"""With every sample, and for more than are in 2,000 groups with 20 partitions each: that is 0.5 s of CPU time."""


def run(inv: Invocation, asked: ExporterOptions) -> int:
    """Ends by a signal only: SystemExit or KeyboardInterrupt."""
    address = parse_address(asked.listen)
    wanted = Wanted(
        accepts_group=_pattern("--groups", asked.groups),
        accepts_topic=_pattern("--topics", asked.topics),
    )
    try:
        from kcli.exporter.server import READY, STOPPING, Server, notify  # an optional extra
    except ImportError as error:
        if not (error.name or "").startswith("prometheus_client"):
            raise
        raise ConfigError(
            "kcli exporter needs prometheus-client", why="it is not installed", do=installation("exporter")
        ) from None
    warn = inv.talk.warn
    users = Users(asked.users, warn) if asked.users is not None else None
    tls = None
    if asked.tls_certificate is not None:
        tls = ServerTls(asked.tls_certificate, asked.tls_key, asked.tls_client_ca, warn)
    options = admin_options(inv)
    lookups = USUAL if asked.time == EXACT else _ESTIMATES
    loop = Loop(
        lambda: open_monitor(options, wanted, lookups, inv.hooks, inv.timeout),
        interval=asked.interval,
        time=asked.time,
        most=asked.max_series,
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


def _warn_of_strangers(inv: Invocation, address: Address, *, tls: bool, users: bool) -> None:
    if address.is_loopback:
        return
    if users and not tls:
        inv.talk.warn("passwords cross the network readable: --tls-certificate encrypts them")
    elif not users:
        inv.talk.warn(
            "any client that reaches this address can read the figures, unless --users or --tls-client-ca is given"
        )
