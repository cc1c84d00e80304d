"""What ``kcli exporter`` does: first contact, then samples and scrapes until a signal."""

from __future__ import annotations

from functools import partial
from threading import Event

from kcli.commands.exporter.options import ExporterOptions
from kcli.commands.exporter.sampling import Sampler, samplers
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import orderly_end
from kcli.commands.shared.serving import warn_of_strangers
from kcli.core.admin.admin import Admin
from kcli.core.classes import replace
from kcli.core.errors import ConnectError, NotKafkaError, TimedOutError
from kcli.exporter.address import parse_address
from kcli.exporter.server import READY, STOPPING, notify

_LISTEN = "127.0.0.1:9308"


def run(inv: Invocation, asked: ExporterOptions) -> int:
    """Ends by a signal only: SystemExit or KeyboardInterrupt."""
    serving = replace(asked.serving, listen=asked.serving.listen or _LISTEN)
    parse_address(serving.listen)
    some, ended = samplers(inv, asked), Event()
    from kcli.exporter.health import ClusterSite  # an optional extra

    loops = {one.cluster.name: one.loop(ended) for one in some}
    samples = {name: partial(getattr, loop, "state") for name, loop in loops.items()}
    with orderly_end():
        server = serving.server(ClusterSite(samples, labelled=len(some) > 1), inv.talk.warn)
        try:
            for one in some:
                _first_contact(inv, one)
            warn_of_strangers(server, inv.talk.warn)
            server.start()
            inv.out.text(f"{server.url}\n")
            inv.out.flush()
            for loop in loops.values():
                loop.start()
            for loop in loops.values():
                loop.first.wait()
            notify(READY)
            ended.wait()
        finally:
            notify(STOPPING)
            server.close()
            for loop in loops.values():
                loop.close()
    raise next(loop.error for loop in loops.values() if loop.error is not None)  # nothing else ends it


def _first_contact(inv: Invocation, one: Sampler) -> None:
    """A cluster that is away may come back; everything else that is wrong ends the command."""
    try:
        cluster = one.cluster
        with (
            Admin(cluster.options, inv.hooks, timeout=cluster.timeout) as admin,
            inv.first_contact(cluster.servers),
        ):
            inv.cluster_id = admin.cluster_id()
    except NotKafkaError:
        raise
    except (ConnectError, TimedOutError) as error:
        inv.talk.warn(f"{one.where}no cluster yet, trying again: {error}")
