"""``kcli doctor``: its options. What it does is in ``run.py``."""

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import GROUP, TOPIC, option


@command(
    "doctor",
    exits={
        1: "something does not work that has no code of its own",
        3: "the cluster, one of its brokers or a partition cannot be reached, or there is no controller",
    },
    examples=(
        ("kcli doctor", "why does it not connect? what is wrong with the cluster?"),
        ("kcli doctor --topic orders", "may this client use it? are all partitions available?"),
        ("kcli doctor --group billing", "its coordinator, state, permissions, lag"),
        ("kcli doctor -F client.properties -o json", "for a ticket: every step with its time"),
    ),
)
@option(
    "--topic",
    type=TOPIC,
    metavar="TOPIC",
    help="check this topic too: partitions, permissions, configuration",
)
@option(
    "--group", type=GROUP, metavar="GROUP", help="check this group too: coordinator, state, permissions, lag"
)
@pass_invocation
def doctor(inv: Invocation, /, topic: str | None, group: str | None) -> int:
    """Find out why something does not work, step by step.

    Checked are this client (versions, configuration and where it comes from, open files), the way to every bootstrap
    address and to every broker at the address that it advertises (DNS, TCP, TLS and certificate, ApiVersions, SASL,
    metadata), the cluster (controller, versions, partitions), a topic and a group, and transactions that hang.

    Each step has its time, and what is wrong a cause and a remedy.

    A chain ends at the step that fails; other brokers are checked nevertheless. Refused credentials are not sent again,
    since that could lock the account. Without --topic and --group, hanging transactions are sought in all partitions.

    The exit code is 0 if nothing has failed (warnings do not count), otherwise that of the worst finding: 4 before 7
    before 3, as everywhere. With -o json the report is one document; -o tsv has a line for each step. With -q there is
    no report where nothing failed or was warned of.
    """
    from kcli.commands.doctor.run import examine  # clients are loaded when the command runs

    return examine(inv, topic, group)
