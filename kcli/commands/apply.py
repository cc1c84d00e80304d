"""``kcli apply``: change a cluster to what files describe."""

from __future__ import annotations

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.document_options import document_options
from kcli.commands.shared.options import option
from kcli.commands.shared.params import RATE, Rate, bytes_a_second


@command(
    "apply",
    exits={
        8: "a rule of --policy is broken; nothing was changed",
        2: "a file cannot be understood, or --prune has neither --only nor --match: nothing was changed",
        6: "some of it was done, and some was not, such as what has a value that Kafka refuses",
        7: "something is refused, such as fewer partitions, or has changed since the plan; the rest is done",
    },
    reads=("XDG_STATE_HOME",),
    examples=(
        ("kcli apply cluster.yaml --dry-run", "only show what would be changed"),
        ("kcli apply cluster/ --yes", "all files of a folder, in a script"),
        ("kcli apply topics.yaml --only Topic --throttle 50MB/s", "topics only; replicas move at 50 MB/s"),
        ("kcli apply acls.yaml --prune --only AclBinding", "delete the ACLs that the file does not have"),
        ("kcli apply team.yaml --prune --match 'orders-*'", "delete only what is called so, too"),
    ),
)
@document_options
@option(
    "--throttle",
    type=RATE,
    metavar="RATE",
    help="limit what each broker sends and receives for moves of replicas, as in 50MB/s (default: no limit)",
)
@pass_invocation
def apply_files(
    inv: Invocation,
    /,
    paths: tuple[str, ...],
    only: tuple[str, ...],
    match: str | None,
    prune: bool,
    exact: bool,
    values: tuple[str, ...],
    policies: tuple[str, ...],
    throttle: Rate | None,
) -> int:
    """Change a cluster to what files describe: the documents of `kcli export`.

    Shows a plan first, and what removes something last. Topics are created, then ACLs, users, quotas and configurations;
    partitions are added, replicas moved. What has changed since the plan is refused, and the rest goes on. The same line
    goes on with what was stopped. `kcli undo ID` undoes it, as far as Kafka can.

    Replicas are moved as by `kcli reassign run`. Each part is looked at again right before it is changed, and read back.

    What a document does not name is left as it is: with --exact, keys that are set and that it does not name are unset.
    Nothing is deleted without --prune, which needs --only or --match; topics that are deleted have their names typed, as
    by `kcli topics delete`. Internal topics, and what is kcli's own, are never deleted; nor are offsets of groups.

    The password of a user is in spec.password_file, password_command or password_env. Kafka does not return passwords: a
    credential that exists with the iterations of the document is taken for the same. `kcli users set NAME` sets a new
    password.

    A document goes to the cluster of the profile in its metadata, else to that of the command. Each cluster has a plan
    and a question of its own. With --profile, documents for other profiles are left out.
    """
    # Clients and YAML are loaded when the command runs.
    from kcli.commands import _applying
    from kcli.commands.shared.documents import read_files

    wish = _applying.Options(only, match, prune=prune, exact=exact, rate=bytes_a_second(throttle, "apply"))
    return _applying.apply_files(inv, read_files(inv, paths, values, policies), wish)
