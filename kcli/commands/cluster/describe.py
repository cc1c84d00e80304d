"""``kcli cluster describe``: show brokers, controller, versions, and partitions in trouble."""

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option


@command(
    "describe",
    examples=(
        ("kcli cluster describe", "brokers, controller, versions, partitions in trouble"),
        ("kcli cluster describe --features", "finalized features, and what each broker supports"),
        ("kcli cluster describe --log-dirs", "the brokers' disks, and how much is used"),
        ("kcli cluster describe --features --log-dirs -o json", "everything, for scripts"),
        ("kcli cluster describe -o tsv", "a line per broker"),
    ),
)
@option("--features", is_flag=True, help="show the levels of features: finalized, and supported")
@option("--log-dirs", is_flag=True, help="show the log directories of all brokers, with their sizes")
@pass_invocation
def describe_cluster(inv: Invocation, /, features: bool, log_dirs: bool) -> int:
    """Show brokers, controller, versions, and partitions that are offline or under-replicated.

    STATE of a broker is online, fenced (registered, but it has lost contact with the controller; reported by Kafka
    4.0 and later), missing (only replica lists name it) or unknown (log directories are read).

    VERSION is the release that a broker's features imply; it is unknown before Kafka 3.3 and with ZooKeeper. Counted
    are the partitions of all topics that this client may describe; NOT-IN-SYNC are the broker's replicas that are not
    in the ISR.

    With -o tsv, csv or name, and plain without headers, there is one table: brokers, or what --features or --log-dirs
    adds. Exit code 6 where something could not be described, 4 without permission (DESCRIBE on the cluster); the rest is
    shown.
    """
    from kcli.commands.cluster._describing import describe  # clients are loaded when the command runs

    return describe(inv, features=features, log_dirs=log_dirs)
