"""``kcli registry``: its help. Its verbs are rows of ``kcli/commands/registry.py``."""

import click

from kcli.commands.shared.command import Group


@click.group(
    "registry",
    cls=Group,
    examples=(
        ("kcli registry list -X schema.registry.url=http://registry:8081", "the subjects"),
        ("kcli registry check orders-value order.avsc", "whether a schema is compatible, and why not"),
    ),
)
def registry() -> None:
    """List, register, check and delete schemas of a schema registry.

    Any registry with Confluent's API will do: Confluent's own, Karapace, Redpanda, and Apicurio at /apis/ccompat/v7.
    It is named by schema.registry.url, as for -s: with -X, in a file or in a profile.
    """
