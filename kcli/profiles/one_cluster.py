"""A run has its cluster from brokers, or from the log directories that brokers have left: the strongest source
decides, and what is for the other kind is left out. Pure.
"""

from collections.abc import Sequence

from kcli.core.errors import ConfigError
from kcli.profiles.profile import COMMAND_LINE, Pair, Report
from kcli.profiles.sifting import field_name
from kcli.profiles.sources import BROKERS, FLAGS, LOG_DIRS

_OF_CONNECTIONS = ("security_protocol", "enable_ssl_certificate_verification", "map_address")


def of_one_cluster(ranked: Sequence[Sequence[Pair]], report: Report) -> list[list[Pair]]:
    """The pairs without those that name brokers where a stronger one names log directories, or the other way round.

    Log directories are read by this process: what is for connections is left out as well. ``report`` is called for both
    on the command line, and for what has no effect there.
    """
    named = [pair for source in ranked for pair in source if pair.key in BROKERS]
    if not named or not any(pair.key in LOG_DIRS for pair in named):
        return list(map(list, ranked))
    strongest = named[-1]
    reads = strongest.key in LOG_DIRS
    found: list[list[Pair]] = []
    for source in ranked:
        found.append([])
        for pair in source:
            other = pair.key in BROKERS and (pair.key in LOG_DIRS) is not reads
            if other and pair.text and _is_typed(pair) and _is_typed(strongest):
                report(_two_clusters(pair, strongest))
            elif reads and not other and _is_of_connections(pair.key) and _is_typed(pair):
                report(_without_connections(pair, strongest))
            elif not other and not (reads and _is_of_connections(pair.key)):
                found[-1].append(pair)
    return found


def _is_typed(pair: Pair) -> bool:
    """Whether it is on the command line."""
    return pair.origin in (COMMAND_LINE, *FLAGS.values())


def _is_of_connections(key: str) -> bool:
    name = field_name(key)
    return name.startswith(("sasl_", "ssl_", "proxy_")) or name in _OF_CONNECTIONS


def _two_clusters(pair: Pair, strongest: Pair) -> ConfigError:
    words = [one.origin if one.origin in FLAGS.values() else f"-X {one.key}" for one in (strongest, pair)]
    return ConfigError(
        f"{words[0]} and {words[1]} together",
        why="log directories are read instead of asking brokers",
        do="use one of them",
    )


def _without_connections(pair: Pair, strongest: Pair) -> ConfigError:
    return ConfigError(
        f"{pair.key} ({pair.origin}) has no effect",
        why=f"{strongest.origin} names log directories, which are read without a connection",
        do="leave it out",
    )
