"""``kcli profile test``: whether a profile leads to its cluster, step by step."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import PROFILE


@command(
    "test",
    exits={
        4: "the credentials are refused, or a certificate is not trusted",
        7: "a broker lacks what the options need",
    },
    examples=(
        ("kcli profile test prod", "each step to each of its brokers, and to its schema registry"),
        ("kcli profile test prod -o json", "for a script: steps with times, causes and remedies"),
        ("kcli profile test", "the profile in use, or the options of this command line"),
    ),
)
@click.argument("name", required=False, type=PROFILE, metavar="[NAME]")
@pass_invocation
def test_profile(inv: Invocation, name: str | None) -> int:
    """Test whether a profile leads to its cluster, step by step.

    Each bootstrap address, and each broker at the address that it advertises: DNS, TCP, TLS and certificate, ApiVersions,
    SASL, metadata; then the id of the cluster, if the profile has cluster_id, and the schema registry, if it has one.
    Nothing is changed. A chain ends at the step that fails; refused credentials are not sent again, since that could
    lock the account. No secret is printed.

    Without NAME the profile in use is tested, or the options of this command line. The exit code is 0 if nothing has
    failed, otherwise that of the worst step. `kcli doctor` examines the cluster itself, too.
    """
    from kcli.commands.profile._testing import test  # clients are loaded when the command runs

    return test(inv, name)
