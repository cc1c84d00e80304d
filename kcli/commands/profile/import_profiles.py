"""``kcli profile import``: add profiles from the file of another tool, or from a Java .properties file."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import OfferedType, option

_TOOLS = ("kcat", "kafkactl", "rpk", "kaf", "kcl")
_FORMATS = (*_TOOLS, "properties")


@command(
    "import",
    exits={7: "a profile exists that the file has too, and --replace is not given"},
    reads=("XDG_CONFIG_HOME",),
    examples=(
        ("kcli profile import kafkactl", "all contexts of another tool"),
        ("kcli profile import client.properties --name prod", "a file of options as one profile"),
        ("kcli profile import rpk --dry-run", "only show what would be added"),
    ),
)
@click.argument("source", type=OfferedType("source", _TOOLS), metavar="FILE|" + "|".join(_TOOLS))
@option("--name", metavar="NAME", help="name of the profile, where the file has one cluster without a name")
@option(
    "--format", "form", type=click.Choice(_FORMATS), help="whose file it is (default: by name and content)"
)
@option("--replace", is_flag=True, help="replace profiles that have the same names")
@pass_invocation
def import_profiles(inv: Invocation, source: str, name: str | None, form: str | None, replace: bool) -> int:
    """Add profiles from the file of another tool, or from a Java .properties file.

    A file with several clusters gives several profiles. Options that kcli does not have are listed, each with the
    reason. Passwords of the file are copied into kcli's, which only you can read. If a profile exists, nothing is added:
    exit code 7, unless --replace is given.
    """
    from kcli.commands.profile._importing import import_from  # not for --help

    return import_from(inv, source, name, form, replace=replace)
