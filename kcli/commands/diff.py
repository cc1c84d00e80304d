"""``kcli diff``: what files describe, compared with what the cluster has."""

from __future__ import annotations

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.document_options import check_prune, document_options

OUTPUTS = ("json", "ndjson", "yaml")


@command(
    "diff",
    outputs=OUTPUTS,
    examples=(
        ("kcli diff cluster.yaml", "0 if the cluster is as the file says, 8 if not"),
        (
            "kcli diff topics/ acls.yaml --values prod.yaml",
            "a folder and a file, with the variables of prod.yaml",
        ),
        ("kcli diff cluster.yaml --exact", "also what is set, and the file does not name"),
        ("kcli diff topics/ --prune --only Topic", "also topics that no file describes"),
        ("kcli diff cluster.yaml -o json", "for scripts"),
    ),
    exits={8: "something differs, or a rule of --policy is broken"},
)
@document_options
@pass_invocation
def diff(
    inv: Invocation,
    /,
    paths: tuple[str, ...],
    only: tuple[str, ...],
    match: str | None,
    prune: bool,
    exact: bool,
    values: tuple[str, ...],
    policies: tuple[str, ...],
) -> int:
    """Compare what files describe with what the cluster has.

    Files are YAML: what `kcli export` writes, and topics and users of Strimzi, jikkou and topicctl. Of a folder all that
    end with .yaml, .yml or .json are read; - is stdin. Exit code 0: all is as the files say; 8: something differs; 6:
    some of it could not be read.

    Values are compared as Kafka reads them: lists in any order, and what a topic has by default is what it has. What a
    file does not name is left alone; with --exact it is a difference. With --prune so is what the cluster has and no file
    describes, of the kinds of --only, or of those in the files. Passwords cannot be compared. A replica that is still
    being copied to is none that the topic has.

    Documents that name a profile (`metadata.profile`) are compared with its cluster, the others with that of this
    command line. With --profile only its documents, and those that name none.
    """
    check_prune("diff", prune=prune, only=only, match=match)
    from kcli.commands import _diffing  # clients and YAML are loaded when the command runs
    from kcli.commands.shared.documents import read_files

    resources = read_files(inv, paths, values, policies)
    return _diffing.compare_files(inv, resources, _diffing.Wish(only, match, prune=prune, exact=exact))
