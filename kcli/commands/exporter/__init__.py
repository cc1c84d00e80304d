"""``kcli exporter``: its options. What the command does is in ``run.py``."""

from collections.abc import Sequence
from typing import Any

import click

from kcli.commands.exporter.options import ExporterOptions, check
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import DURATION, PROFILE, CountType, OfferedType, option
from kcli.commands.shared.serving import Serving, access_options
from kcli.exporter.collectors.choice import WORDS


@command(
    "exporter",
    exits={6: "--textfile: something is missing on the page, which was written", 7: "the address is taken"},
    reads=("NOTIFY_SOCKET",),
    outputs=(),
    examples=(
        ("kcli exporter", "http://127.0.0.1:9308/metrics, a sample every 15 s"),
        ("kcli exporter --listen '[::1]:0'", "on a free port, which is printed"),
        ("kcli exporter --groups 'billing-.*' --topics '(orders|payments)'", "only these"),
        ("kcli exporter --profile prod --profile test", "two clusters; /probe?target=prod has one of them"),
        ("kcli exporter --collect default,log-dirs", "with the brokers' log directories"),
        ("kcli exporter --textfile /var/lib/node_exporter/kafka.prom", "once, by cron"),
        ("kcli exporter --time off --interval 1m", "with as few requests as possible"),
        (
            "kcli exporter --listen :9308 --web-config web.yml",
            "for other machines: over TLS, for users with a password",
        ),
    ),
)
@options(
    "What to measure",
    option(
        "--profile",
        "profiles",
        metavar="NAME",
        type=PROFILE,
        multiple=True,
        help="a cluster's options by name; with several, each series has the label cluster",
    ),
    option("--context", "--cluster", "named", type=PROFILE, multiple=True, hidden=True),
    option(
        "--collect",
        type=OfferedType("list", tuple(WORDS)),
        metavar="WORD[,…]",
        default="default",
        help="groups, owners, topics, brokers, quorum, transactions, quotas, commits, log-dirs, configs, default (all "
        "but owners, log-dirs and configs) or all (default: default)",
    ),
    option("--groups", metavar="REGEX", help="only groups whose whole names match this regular expression"),
    option(
        "--topics",
        metavar="REGEX",
        help="only topics whose whole names match, and groups that read some of them",
    ),
    option(
        "--time",
        type=click.Choice(["exact", "estimate", "off"]),
        help="read lag in time from records, estimate it, or leave it out (default: estimate)",
    ),
    option(
        "--interval",
        type=DURATION,
        default="15s",
        metavar="DUR",
        help="time between two samples (default: 15s)",
    ),
    option(
        "--max-series",
        type=CountType(1),
        default="1M",
        metavar="N",
        help="export at most N series of a cluster (default: 1M)",
    ),
)
@options(
    "Where to serve it",
    option(
        "--listen",
        metavar="HOST:PORT",
        help="address to serve; :PORT is all addresses, port 0 a free port (default: 127.0.0.1:9308)",
    ),
    *access_options(),
    option(
        "--textfile",
        metavar="FILE",
        help="write the page once to FILE, for the textfile collector of node_exporter, and exit",
    ),
)
@pass_invocation
def exporter(
    inv: Invocation,
    /,
    listen: str | None,
    tls_certificate: str | None,
    tls_key: str | None,
    tls_client_ca: str | None,
    web_config: str | None,
    profiles: Sequence[str],
    named: Sequence[str],
    **given: Any,
) -> int:
    """Export the lag of groups for Prometheus.

    Serves the figures of `kcli groups lag` and `kcli top` at /metrics, as OpenMetrics or in Prometheus's text format:
    lag in records and seconds, verdicts, states and members of groups, offsets of topics, how long brokers take to
    respond, and its own state.

    Several clusters are read side by side, each by a profile: /metrics has all, /probe?target=NAME one of them.

    One sample serves all scrapes, which never wait for Kafka. /healthz is 200 while samples succeed, else 503. While
    the cluster is away there are no figures, and kcli_exporter_up is 0.

    With --textfile it takes one sample, replaces FILE as a whole, and exits: with 0 only if nothing is missing.

    The first line on stdout is the URL. Hashes for --web-config are made by `htpasswd -nBC 10 NAME`.
    """
    serving = Serving(
        listen=listen or "",
        tls_certificate=tls_certificate,
        tls_key=tls_key,
        tls_client_ca=tls_client_ca,
        web_config=web_config,
    )
    asked = ExporterOptions(serving=serving, profiles=(*profiles, *named), **given)
    check(asked)
    if asked.textfile is not None:
        from kcli.commands.exporter.textfile import write  # loads prometheus_client

        return write(inv, asked, asked.textfile)
    from kcli.commands.exporter.run import run  # as above

    return run(inv, asked)
