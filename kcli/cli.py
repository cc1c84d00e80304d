"""The root of the command line: a table of commands, each imported when it runs.

A new command is a module and a row here. Imported at every start: only click and small things.
"""

import click

from kcli.commands.shared.command import LazyGroup

COMMANDS: dict[str, tuple[str, str]] = {
    "produce": ("kcli.commands.produce:produce", "send lines or records to a topic"),
    "consume": ("kcli.commands.consume:consume", "read records of topics"),
    "topics": ("kcli.commands.topics:topics", "list, describe, create and delete topics"),
    "groups": ("kcli.commands.groups:groups", "list, describe and change groups and their offsets"),
    "cluster": ("kcli.commands.cluster:cluster", "describe the cluster and its brokers"),
    "configs": ("kcli.commands.configs:configs", "show and change configurations"),
    "reassign": ("kcli.commands.reassign:reassign", "move replicas of partitions to other brokers"),
    "elect-leaders": (
        "kcli.commands.elect_leaders:elect_leaders",
        "make preferred replicas leaders of their partitions",
    ),
    "acls": ("kcli.commands.acls:acls", "list, create and delete ACLs: who may do what"),
    "top": ("kcli.commands.top:top", "watch groups, topics and brokers live"),
    "exporter": (
        "kcli.commands.exporter:exporter",
        "export the lag of groups for Prometheus",
    ),
    "txn": ("kcli.commands.txn:txn", "find the transactions that hold partitions back, and end them"),
    "quotas": ("kcli.commands.quotas:quotas", "show and change quotas of users, client ids and IP addresses"),
    "users": ("kcli.commands.users:users", "list, set and delete users: their SCRAM credentials"),
    "doctor": ("kcli.commands.doctor:doctor", "find out why something does not work, step by step"),
    "undo": ("kcli.commands.undo:undo", "undo a change that deleted something"),
    "mirror": (
        "kcli.commands.mirror:mirror",
        "copy topics to another cluster, and prove that they are equal",
    ),
    "perf": ("kcli.commands.perf:perf", "measure rate and latency of a cluster"),
    "pipeline": (
        "kcli.commands.pipeline:pipeline",
        "query, export, copy and compare whole topics, on Spark",
    ),
    "profile": ("kcli.commands.profile:profile", "name clusters, with their options and secrets"),
    "config": ("kcli.commands.config:config", "show and check the client options of all sources"),
    "sandbox": ("kcli.commands.sandbox:sandbox", "run a real Apache Kafka on this machine"),
    "demo": ("kcli.commands.demo:demo", "see it work on a throw-away sandbox, with proofs"),
    "completion": (
        "kcli.commands.completion:completion",
        "print or install the completion script of a shell",
    ),
    "schema": ("kcli.commands.schema:schema", "print the JSON Schema of what -o json prints"),
    "man": ("kcli.commands.man:man", "show the manual page of a command or a concept"),
    "help": (
        "kcli.commands.help:help_command",
        "help on a command, on client options, on concepts",
    ),
}

ALIASES = {
    "profiles": "profile",
    "topic": "topics",
    "group": "groups",
    "acl": "acls",
    "quota": "quotas",
    "user": "users",
    "transactions": "txn",
    "tui": "top",
}
"""Singular nouns, and other words for a command, hidden."""


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
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
