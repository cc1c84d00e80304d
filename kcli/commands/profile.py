"""``kcli profile``: its verbs and options. What they do is in ``_profile_show.py``, ``_profile_edit.py`` and
``_profile_import.py``.
"""

import click

from kcli.commands.shared.command import group
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import PROFILE, OfferedType

_TOOLS = ("kcat", "kafkactl", "rpk", "kaf", "kcl")
_FORMATS = (*_TOOLS, "properties")


@group(
    "profile",
    examples=(
        ("kcli profile add prod -b kafka1:9093 -X security.protocol=SASL_SSL", "a cluster under a name"),
        ("kcli profile use prod", "the cluster of all commands that name no other"),
        ("kcli topics list --profile test", "another one for one command"),
    ),
)
def profile() -> None:
    """Name clusters: their brokers, options and secrets, and what protects them."""


@profile.command(
    "list",
    changes=False,
    local=True,
    reads=("XDG_CONFIG_HOME", "KCLI_BOOTSTRAP_SERVER"),
    examples=(("kcli profile list", "all profiles"), ("kcli profile list -o name", "their names only")),
)
@pass_invocation
def list_profiles(inv: Invocation, /) -> int:
    """List the profiles."""
    from kcli.commands._profile_show import list_all  # client options are loaded when the command runs

    return list_all(inv)


@profile.command(
    "show",
    changes=False,
    local=True,
    reads=("XDG_CONFIG_HOME", "KCLI_BOOTSTRAP_SERVER"),
    examples=(
        ("kcli profile show prod", "its options, secrets hidden"),
        ("kcli profile show", "of the current one"),
    ),
)
@click.argument("name", required=False, type=PROFILE, metavar="[NAME]")
@pass_invocation
def show_profile(inv: Invocation, /, name: str | None) -> int:
    """Show the options of one profile, with the lines where they stand; secrets are hidden."""
    from kcli.commands._profile_show import show  # client options are loaded when the command runs

    return show(inv, name)


@profile.command(
    "use",
    changes=False,
    local=True,
    reads=("XDG_CONFIG_HOME",),
    examples=(("kcli profile use prod", "for all commands without --profile and KCLI_PROFILE"),),
)
@click.argument("name", type=PROFILE)
@pass_invocation
def use_profile(inv: Invocation, /, name: str) -> int:
    """Make a profile the current one."""
    from kcli.commands._profile_edit import use  # client options are loaded when the command runs

    return use(inv, name)


@profile.command(
    "add",
    changes=False,
    local=True,
    exits={7: "a profile of this name exists"},
    reads=("XDG_CONFIG_HOME",),
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
@click.option("--replace", is_flag=True, help="replace a profile of that name")
@pass_invocation
def add_profile(inv: Invocation, /, name: str, replace: bool) -> int:
    """Add a profile with the options of this command line: -b, -X, -F and --client-id.

    All keys are checked first. `-X read_only=true` refuses every command that changes the cluster, `-X
    protected=true` requires --confirm NAME in place of --yes, `-X color=red` colours plans and prompts, and `-X
    cluster_id=ID` refuses any other cluster.

    A password is better not written here: `-X sasl.password_file=FILE`, `-X sasl.password_command=COMMAND` and `-X
    sasl.password=keyring:SERVICE/USER` say where it is, and without any of them kcli asks. Exit code 7 if the profile
    exists.
    """
    from kcli.commands._profile_edit import add  # client options are loaded when the command runs

    return add(inv, name, replace=replace)


@profile.command(
    "remove",
    changes=False,
    local=True,
    reads=("XDG_CONFIG_HOME",),
    examples=(("kcli profile remove test", "asks first"),),
)
@click.argument("name", type=PROFILE)
@pass_invocation
def remove_profile(inv: Invocation, /, name: str) -> int:
    """Remove a profile. Secrets that it only points to stay where they are."""
    from kcli.commands._profile_edit import remove  # client options are loaded when the command runs

    return remove(inv, name)


@profile.command(
    "import",
    changes=False,
    local=True,
    exits={7: "a profile exists that the file has too, and --replace is not given"},
    reads=("XDG_CONFIG_HOME",),
    examples=(
        ("kcli profile import kafkactl", "all contexts of another tool"),
        ("kcli profile import client.properties --name prod", "a file of options as one profile"),
        ("kcli profile import rpk --dry-run", "only show what would be added"),
    ),
)
@click.argument("source", type=OfferedType("source", _TOOLS), metavar="FILE|" + "|".join(_TOOLS))
@click.option(
    "--name", metavar="NAME", help="name of the profile, where the file has one cluster without a name"
)
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), help="whose file it is (default: by name and content)"
)
@click.option("--replace", is_flag=True, help="replace profiles that have the same names")
@pass_invocation
def import_profiles(
    inv: Invocation, /, source: str, name: str | None, form: str | None, replace: bool
) -> int:
    """Add profiles from the file of another tool, or from a Java .properties file.

    A file with several clusters gives several profiles. Options that kcli does not have are listed, each with the
    reason. Passwords of the file are copied into kcli's, which only you can read. If a profile exists, nothing is added:
    exit code 7, unless --replace is given.
    """
    from kcli.commands._profile_import import import_from  # client options are loaded when the command runs

    return import_from(inv, source, name, form, replace=replace)
