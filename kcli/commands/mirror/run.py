"""``kcli mirror run``: its options, and what contradicts what. The run itself is in ``copying.py``."""

from collections.abc import Mapping
from typing import Any

import click

from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.from_dir import from_dir_option
from kcli.commands.shared.options import GROUP, REPORT_KINDS, option
from kcli.commands.shared.params import DURATION, Rate, checkpoint_option, on_recreate_option, rate_option
from kcli.commands.shared.serving import Serving, access_options
from kcli.commands.shared.two_clusters import (
    begin_option,
    check_excludes,
    config_options,
    exclude_option,
    from_option,
    job_option,
    map_topic_option,
    partitions_kept_option,
    to_option,
    topics_option,
)
from kcli.commands.shared.usage import usage
from kcli.flows.mirror.groups.selection import group_selectors
from kcli.flows.mirror.settings import STEADY, MirrorSettings, Pace


def _changes(params: Mapping[str, Any]) -> bool:
    """Whether the target is written."""
    return not params["verify_only"]


@command(
    "run",
    changes=_changes,
    exits={
        5: "records were removed before they were copied, a batch is damaged, or a topic was created anew",
        6: "a partition has ended with an error, there are gaps (--on-gap record), or an offset of a group is not set",
        7: "another process runs the job (--no-standby), or an option contradicts what the job has copied",
        8: "an open transaction holds records back (--until-caught-up); the clusters differ (--verify, --verify-only)",
    },
    reads=("KCLI_IMPL",),
    outputs=REPORT_KINDS,
    examples=(
        ("kcli mirror --from a:9092 --to b:9092 -t orders --until-caught-up", "copy a topic as it is now"),
        (
            "kcli mirror --from a:9092 --to b:9092 -t '^orders-.*' --exactly-once",
            "follow topics, nothing twice",
        ),
        (r"kcli mirror --from a:9092 --to b:9092 -t '*' --map-topic '^(.*)$=eu.\1'", "all topics, renamed"),
        ("kcli mirror --from a:9092 --to b:9092 -t orders --until-caught-up --verify", "copy, then compare"),
        ("kcli mirror --from a:9092 --to b:9092 -t '*' --exclude 'test-*'", "follow all topics but some"),
        (
            "kcli mirror --from a:9092 --to b:9092 -t orders --sync-groups billing",
            "with the offsets of a group",
        ),
        (
            "kcli mirror --from a:9092 --to b:9092 -t orders --sync-acls --map-principal User:bob=User:dr-bob",
            "with its ACLs",
        ),
        (
            "kcli mirror --from a:9092 --to b:9092 -t '*' --sync-configs effective --dry-run",
            "which settings differ, and would be written",
        ),
        (
            "kcli mirror --from a:9092 --to b:9092 -t '*' --listen 127.0.0.1:9309",
            "with metrics for Prometheus, and answers to probes",
        ),
        (
            "kcli mirror --from a:9092 --to a:9092 -t orders --map-topic orders=copy --offset 0:1000 --until-caught-up",
            "some offsets, within a cluster",
        ),
    ),
)
@options(
    "What to copy",
    from_option("copied", required=False),
    from_dir_option("copy"),
    to_option("written", required=True),
    topics_option("copy", required=True),
    exclude_option("copy"),
    map_topic_option("copy topic A to B"),
    partitions_kept_option("copy"),
    begin_option(),
)
@options(
    "How to copy",
    option(
        "--exactly-once", is_flag=True, help="copy in transactions of the target: nothing is stored twice"
    ),
    rate_option("limit: records per second, or 10MB/s"),
    option("--headers", is_flag=True, help="add headers with the record's origin; it re-encodes all batches"),
    option(
        "--sync-groups",
        "groups",
        type=GROUP,
        multiple=True,
        metavar="GROUP|GLOB|^REGEX",
        help="also commit the offsets of these groups on the target, translated; repeatable",
    ),
    option(
        "--exclude-groups",
        "groups_excluded",
        type=GROUP,
        multiple=True,
        metavar="GROUP|GLOB|^REGEX",
        help="groups that a pattern of --sync-groups does not select; repeatable",
    ),
    *config_options(),
)
@options(
    "Permissions",
    option(
        "--sync-acls",
        is_flag=True,
        help="also create the ACLs of the topics, and of the groups, on the target; what lets others write waits for the "
        "promotion",
    ),
    option(
        "--map-principal",
        "principals",
        multiple=True,
        metavar="A=B",
        help=r"the ACLs of principal A are for B on the target; '^REGEX=NAME' maps by a pattern; repeatable",
    ),
    option(
        "--prune-acls",
        is_flag=True,
        help="delete the ACLs of the topics, and of the groups, that the source does not have; asks",
    ),
)
@options(
    "When to end, and proof",
    option(
        "--until-caught-up", is_flag=True, help="end when everything is copied that was there at the start"
    ),
    option("--verify", is_flag=True, help="compare all copied records at the end; implies --until-caught-up"),
    option(
        "--max-wait",
        type=DURATION,
        metavar="DUR",
        help="end a partition that waits for so long: for a cluster that is away, or an open transaction "
        "(default: 60s with --until-caught-up or --verify, else never)",
    ),
    option("--verify-only", is_flag=True, help="compare, and copy nothing"),
)
@options(
    "Watching",
    option(
        "--listen",
        metavar="HOST:PORT",
        help="serve /metrics for Prometheus, /healthz and /readyz at this address; :PORT is all addresses, port 0 a free "
        "port",
    ),
    *access_options(),
)
@options(
    "Position and failures",
    job_option(),
    option(
        "--no-standby",
        "stand_by",
        is_flag=True,
        flag_value=False,
        default=True,
        help="exit with 7 where another process runs the job, instead of waiting to take over",
    ),
    checkpoint_option("keep the position in FILE instead of a topic of the target; not with --exactly-once"),
    option(
        "--on-gap",
        type=click.Choice(["fail", "record"]),
        default="fail",
        help="when the source has removed records that are not copied yet, or a batch is damaged: end that partition, or "
        "record the gap and continue (default: fail)",
    ),
    on_recreate_option(
        "when a topic of the source is deleted and created again: end it, or copy the new one (default: fail)"
    ),
    option(
        "--on-delete",
        type=click.Choice(["keep", "delete"]),
        default="keep",
        help="when a topic of the source is deleted: keep its copy, or delete it as well, if all of it was copied "
        "(default: keep)",
    ),
)
@pass_invocation
def run(
    inv: Invocation,
    /,
    source: str | None,
    target: str,
    partitions: str,
    rate: Rate | None,
    verify_only: bool,
    listen: str | None,
    tls_certificate: str | None,
    tls_key: str | None,
    tls_client_ca: str | None,
    web_config: str | None,
    **given: Any,
) -> int:
    """Copy topics from one cluster to another, batch by batch, and prove that they are equal.

    Topics that the target lacks are created with the partitions and the configuration of the source. A batch is sent on
    as the bytes in which it was stored, where brokers accept that: keys, values, headers, timestamps, order and
    compression are kept. Transactions that were aborted are not copied.

    A job is the source, the target and --job: started again it continues where it ended, also with other topics. A
    second process of a running job waits, and takes over when the first one ends. At least once is the default: after a
    kill, the records of about the last second may be stored twice. With --exactly-once they are not.
    """
    if source is None and not verify_only:
        given["until_caught_up"] = True  # nothing more arrives in log directories
    settings = MirrorSettings(by_key=partitions == "by-key", pace=_pace(rate), **given)
    _check(settings, verify_only=verify_only)
    access = {
        "tls_certificate": tls_certificate,
        "tls_key": tls_key,
        "tls_client_ca": tls_client_ca,
        "web_config": web_config,
    }
    serving = _serving(listen, access, verify_only=verify_only)
    if verify_only:
        from kcli.commands.mirror.comparing import compare_topics  # not for --help

        return compare_topics(inv, source, target, settings)
    from kcli.commands.mirror.copying import copy_topics  # not for --help

    return copy_topics(inv, source, target, settings, serving)


def _serving(listen: str | None, access: Mapping[str, str | None], *, verify_only: bool) -> Serving | None:
    """Where the figures are served; usage errors."""
    if listen is None:
        for name, given in access.items():
            if given is not None:
                raise usage(
                    f"kcli mirror run: --{name.replace('_', '-')} without --listen",
                    why="nothing is served",
                    do="add --listen HOST:PORT",
                )
        return None
    if verify_only:
        raise usage(
            "kcli mirror run: --listen with --verify-only",
            why="it copies nothing, and has no figures",
            do="leave one of them out",
        )
    serving = Serving(listen=listen, **access)
    serving.check("kcli mirror run")
    return serving


def _pace(rate: Rate | None) -> Pace:
    return Pace() if rate is None else Pace(records_per_second=rate.records, bytes_per_second=rate.bytes)


def _check(settings: MirrorSettings, *, verify_only: bool) -> None:
    """Usage errors for options that contradict each other."""
    check_excludes("mirror run", settings.topics, settings.excludes)
    compares = settings.verify or verify_only
    if settings.verify and verify_only:
        raise usage(
            "kcli mirror run: --verify with --verify-only",
            why="--verify copies first",
            do="leave one of them out",
        )
    if settings.by_key and compares:
        raise usage(
            f"kcli mirror run: {'--verify' if settings.verify else '--verify-only'} with --partitions by-key",
            why="the records of one partition are then in several, which cannot be compared one by one",
            do="leave one of them out",
        )
    if verify_only:
        _check_compares(settings)
    if settings.by_key and settings.groups:
        raise usage(
            "kcli mirror run: --sync-groups with --partitions by-key",
            why="the records of one partition are then in several, where no offset corresponds to that of the source",
            do="leave one of them out",
        )
    if settings.groups_excluded and not settings.groups:
        raise usage(
            "kcli mirror run: --exclude-groups without --sync-groups",
            why="there is nothing to leave them out of",
            do="add --sync-groups, or leave it out",
        )
    group_selectors(settings.groups, settings.groups_excluded)  # which refuses what is no pattern
    _check_acls(settings)
    if settings.on_delete == "delete" and settings.bounded:
        raise usage(
            "kcli mirror run: --on-delete delete with --until-caught-up or --verify",
            why="a run that ends by itself does not wait until the deletion of a topic is certain",
            do="leave one of them out",
        )
    if settings.exactly_once and settings.checkpoint:
        raise usage(
            "kcli mirror run: --exactly-once with --checkpoint",
            why="the position has to be in the same transaction as the records, on the target",
            do="leave --checkpoint out",
        )


def _check_compares(settings: MirrorSettings) -> None:
    """What asks for a change would be left undone, or a limit ignored, and the exit status would not show it."""
    for name, given in (
        ("--rate", settings.pace != STEADY),
        ("--max-wait", settings.max_wait is not None),
        ("--sync-groups", settings.groups),
        ("--sync-acls", settings.sync_acls),
        ("--sync-configs effective", settings.sync_configs == "effective"),
        ("--config", settings.configs),
        ("--on-delete delete", settings.on_delete == "delete"),
    ):
        if given:
            raise usage(
                f"kcli mirror run: {name} with --verify-only",
                why="it compares, and changes nothing; it reads as fast as it can, and waits for nothing"
                if name in ("--rate", "--max-wait")
                else "it compares, and changes nothing",
                do="leave one of them out",
            )


def _check_acls(settings: MirrorSettings) -> None:
    for name, given in (("--map-principal", settings.principals), ("--prune-acls", settings.prune_acls)):
        if given and not settings.sync_acls:
            raise usage(
                f"kcli mirror run: {name} without --sync-acls",
                why="no ACLs are synced",
                do="add --sync-acls",
            )
