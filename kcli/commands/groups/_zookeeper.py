"""``--zookeeper`` of export and import: the connection, and what is done with it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kcli.commands.shared.changing import change_with
from kcli.commands.shared.context import Invocation
from kcli.core.clock import wall_ms
from kcli.core.types import TopicPartition
from kcli.flows.transfer.change import FileOffsets
from kcli.flows.transfer.exporting import Export
from kcli.flows.transfer.zookeeper.change import NodeImport
from kcli.flows.transfer.zookeeper.read_groups import cluster_id, export_zookeeper
from kcli.flows.transfer.zookeeper.session import ZooKeeper, parse_hosts


@contextmanager
def open_zookeeper(inv: Invocation, hosts: str) -> Iterator[ZooKeeper]:
    """Reports it when connecting takes long; ``--debug=proto`` shows the log messages of the client."""
    log = (lambda text: inv.hooks.log("debug", "proto", text)) if "proto" in inv.areas else None
    zookeeper = ZooKeeper(parse_hosts(hosts), timeout=inv.timeout, log=log)
    with inv.first_contact(str(zookeeper.hosts)):
        zookeeper.open()
    try:
        yield zookeeper
    finally:
        zookeeper.close()


def read_offsets(
    inv: Invocation, hosts: str, names: Sequence[str] | None, wanted: Callable[[TopicPartition], bool]
) -> Export:
    """The offsets of these groups (None: of all) in ZooKeeper."""
    with open_zookeeper(inv, hosts) as zookeeper:
        return export_zookeeper(zookeeper, names, wanted, at_ms=wall_ms())


def import_into_zookeeper(inv: Invocation, hosts: str, file: FileOffsets) -> int:
    """The exit status."""
    inv.read_profile()
    with open_zookeeper(inv, hosts) as zookeeper:
        change = NodeImport(file, hosts, again=inv.yes, dry=inv.dry_run)
        client: Any = zookeeper  # imports of offsets are changes of a cluster, this one excepted
        return change_with(inv, client, cluster_id(zookeeper), change)
