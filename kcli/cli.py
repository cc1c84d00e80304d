"""The root of the command line; its commands are rows of ``kcli/commands/registry.py``, each imported when it runs."""

import click

from kcli.commands.registry import ALIASES
from kcli.commands.shared.command import Group


@click.group(
    cls=Group,
    noun="",
    aliases=ALIASES,
    examples=(
        ("kcli demo", "see it work, on a Kafka that is started for it"),
        ("kcli produce orders < lines.txt", "one record a line"),
        ("kcli consume orders --from-beginning --exit", "read all records, then stop"),
        ("kcli topics describe orders -o json", "for scripts: JSON with stable keys"),
    ),
)
def cli() -> None:
    """A command-line suite for Apache Kafka.

    Results go to stdout, everything else to stderr. Without --bootstrap-server the brokers come from -X, -F FILE,
    KCLI_BOOTSTRAP_SERVER, the profile in use, KAFKA_BOOTSTRAP_SERVERS or a running sandbox, in this order; `kcli help
    profiles` has the details.
    """
