"""``--zookeeper`` of export and import, and the session that it asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from kcli.commands.shared.context import Invocation
    from kcli.flows.transfer.zookeeper.session import ZooKeeper


def zookeeper_option(said: str) -> Callable[[Any], Any]:
    """``--zookeeper``."""
    return click.option("--zookeeper", metavar="HOST[:PORT][,…][/CHROOT]", help=said)


@contextmanager
def open_zookeeper(inv: Invocation, hosts: str) -> Iterator[ZooKeeper]:
    """A session, with a word when it takes long; ``--debug=proto`` shows what the client says of it."""
    from kcli.flows.transfer.zookeeper.hosts import parse_hosts
    from kcli.flows.transfer.zookeeper.session import ZooKeeper

    log = (lambda text: inv.hooks.log("debug", "proto", text)) if "proto" in inv.areas else None
    zookeeper = ZooKeeper(parse_hosts(hosts), timeout=inv.timeout, log=log)
    with inv.first_contact(str(zookeeper.hosts)):
        zookeeper.open()
    try:
        yield zookeeper
    finally:
        zookeeper.close()
