"""``kcli profile``: a table of its verbs, each a module that is imported when it runs."""

import click

from kcli.commands.shared.command import LazyGroup

VERBS: dict[str, tuple[str, str]] = {
    "list": ("kcli.commands.profile.list:list_profiles", "list the profiles"),
    "show": (
        "kcli.commands.profile.show:show_profile",
        "show the options of one profile, with the lines where they stand; secrets are hidden",
    ),
    "use": ("kcli.commands.profile.use:use_profile", "make a profile the current one"),
    "add": (
        "kcli.commands.profile.add:add_profile",
        "add a profile with the options of this command line: -b, -X, -F and --client-id",
    ),
    "remove": ("kcli.commands.profile.remove:remove_profile", "remove a profile"),
    "import": (
        "kcli.commands.profile.import_profiles:import_profiles",
        "add profiles from the file of another tool, or from a Java .properties file",
    ),
}


@click.group(
    "profile",
    cls=LazyGroup,
    table=VERBS,
    examples=(
        ("kcli profile add prod -b kafka1:9093 -X security.protocol=SASL_SSL", "a cluster under a name"),
        ("kcli profile use prod", "the cluster of all commands that name no other"),
        ("kcli topics list --profile test", "another one for one command"),
    ),
)
def profile() -> None:
    """Name clusters: their brokers, options and secrets, and what protects them."""
