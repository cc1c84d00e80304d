"""``kcli profile add``: add a profile with the options of this command line: -b, -X, -F and --client-id."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option


@command(
    "add",
    exits={7: "a profile of this name exists"},
    reads=("XDG_CONFIG_HOME",),
    outputs=(),
    examples=(
        ("kcli profile add test -b localhost:9092", "brokers are enough"),
        (
            "kcli profile add prod -b kafka1:9093 -X security.protocol=SASL_SSL -X sasl.mechanism=SCRAM-SHA-512 "
            "-X sasl.username=me -X 'sasl.password_command=pass show kafka/prod'",
            "a password that a command prints",
        ),
        (
            "kcli profile add prod -F client.properties -X protected=true -X color=red",
            "options of a file, and marks",
        ),
    ),
)
@click.argument("name")
@option("--replace", is_flag=True, help="replace a profile of that name")
@pass_invocation
def add_profile(inv: Invocation, name: str, replace: bool) -> int:
    """Add a profile with the options of this command line: -b, -X, -F and --client-id.

    All keys are checked first. `-X read_only=true` refuses every command that changes the cluster, `-X
    protected=true` requires --confirm NAME in place of --yes, `-X color=red` colours plans and prompts, and `-X
    cluster_id=ID` refuses any other cluster.

    A password is better not written here: `-X sasl.password_file=FILE`, `-X sasl.password_command=COMMAND` and `-X
    sasl.password=keyring:SERVICE/USER` say where it is, and without any of them kcli asks. Exit code 7 if the profile
    exists.
    """
    from kcli.commands.profile._editing import add  # client options are loaded when the command runs

    return add(inv, name, replace=replace)
