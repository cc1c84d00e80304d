"""``kcli sandbox up``: start a sandbox in the background."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import SANDBOX, CountType, option


@command(
    "up",
    exits={7: "a sandbox of this name is up with other settings, or a port is taken"},
    reads=("KCLI_CACHE", "KCLI_JAVA", "JAVA_HOME", "KCLI_MAVEN_REPO", "XDG_STATE_HOME"),
    examples=(
        ("kcli sandbox up", "start sandbox default, unless it is running already"),
        ("kcli sandbox up old --kafka-version 2.8.2", "an old broker, with its ZooKeeper"),
        ("kcli sandbox up ci --brokers 3 --port 19092 --ephemeral", "ports 19092 to 19094, no data kept"),
        ("kcli sandbox up q --brokers 3 --controllers 3", "voters that `kcli quorum` can remove and add"),
        ("kcli sandbox up safe --secure", "TLS, PLAIN, SCRAM, tokens, client certificates and ACLs"),
    ),
)
@click.argument("name", required=False, type=SANDBOX, metavar="[NAME]")
@option("--brokers", type=CountType(1), metavar="N", help="number of brokers (default: 1)")
@option(
    "--controllers",
    type=CountType(1),
    metavar="N",
    help="a dynamic quorum of which the first N nodes are voters (default: all, and it cannot be changed)",
)
@option("--log-dirs", type=CountType(1, 100), metavar="N", help="log directories of each node (default: 1)")
@option("--kafka-version", metavar="VERSION", help="any published version (default: 4.4.0)")
@option(
    "--port",
    type=CountType(0, 65535),
    metavar="PORT",
    help="port of the first node, the others use the next ones; 0: any free port (default: 9092 if free)",
)
@option("--data", metavar="DIR", help="data folder (default: one of kcli's own)")
@option("--ephemeral", is_flag=True, help="delete the data at `down`")
@option("--secure", is_flag=True, help="listen with TLS and SASL only, and authorize with ACLs")
@pass_invocation
def up(
    inv: Invocation,
    name: str | None,
    brokers: int | None,
    controllers: int | None,
    log_dirs: int | None,
    kafka_version: str | None,
    port: int | None,
    data: str | None,
    ephemeral: bool,
    secure: bool,
) -> int:
    """Start a sandbox in the background; returns when every broker responds.

    NAME is `default`, unless given. Settings that are not given stay as they were the last time. Exit code 7 if it
    is already running with other settings.

    Each node is broker and controller. With --controllers (Kafka 3.9 and later) the quorum of the controllers is dynamic:
    the other nodes are its observers, which `kcli quorum add-controller` makes voters.

    With --secure it has a CA of its own, random passwords, the super user admin, and alice, who has no rights. There
    is a file of client options for each way to connect: `kcli topics list -F FILE`. The files are in the data folder,
    for your eyes only; `kcli sandbox status -o json` lists them. Without -b and -F, commands connect as admin.
    """
    from kcli.commands.sandbox._starting import start  # not for --help

    return start(inv, name, brokers, controllers, log_dirs, kafka_version, port, data, ephemeral, secure)
