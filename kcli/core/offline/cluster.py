"""The cluster that ``log.dirs`` makes: the node that it starts from, and its server."""

from kcli.core.addresses import log_directories
from kcli.core.errors import ConfigError
from kcli.core.hooks import Hooks
from kcli.core.offline.directories import Directories
from kcli.core.offline.server import Server
from kcli.core.offline.states import committing
from kcli.core.options import ClientOptions
from kcli.core.types import Node

_FIRST_NODE_ID = -10


def server_of(options: ClientOptions, hooks: Hooks) -> Server:
    """The server of the directories in ``log.dirs``; an error for what is not there, or cannot be read."""
    if options.bootstrap_servers:
        raise ConfigError(
            "bootstrap.servers and log.dirs are both given",
            why="a cluster is its brokers, or the log directories that they have left",
            do="leave one of them out",
        )
    ends = committing if options.log_dirs_transactions == "end" else None
    return Server(Directories(log_directories(options.log_dirs), hooks, committing=ends))


def first_node(options: ClientOptions) -> Node:
    """The node before metadata has named it."""
    return Node(_FIRST_NODE_ID, options.servers, 0)
