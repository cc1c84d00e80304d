"""The sources of a run's client options: the command line, the files it names, the environment, a running sandbox."""

import os
from collections.abc import Callable, Mapping

from kcli.commands.shared.cluster_words import ClusterWords
from kcli.commands.shared.global_values import GlobalValues
from kcli.core.errors import ConfigError
from kcli.files.xdg import config_home
from kcli.profiles.resolve import Sources

FindSandbox = Callable[[], tuple[str, Mapping[str, str]] | None]

LARGEST_FILE = 1 << 20
SYSTEM_PROFILES = "/etc/kcli/config.toml"


def sources_of(given: GlobalValues | ClusterWords, find_sandbox: FindSandbox) -> Sources:
    """For ``profiles.resolve``; nothing is read yet."""
    return Sources(
        flags={
            "bootstrap.servers": given.bootstrap_server,
            "client.id": given.client_id,
            "allow.plaintext.secrets": "true" if given.allow_plaintext_secrets else None,
        },
        properties=given.command_property,
        files=given.command_config or tuple(filter(None, [os.environ.get("KCLI_COMMAND_CONFIG")])),
        environ=os.environ,
        read_file=read_config_file,
        find_sandbox=find_sandbox,
        find_profiles=profiles_file,
    )


def profiles_file() -> str | None:
    """The ``config.toml`` of this user or of the system, if one exists."""
    for path in (str(config_home() / "config.toml"), SYSTEM_PROFILES):
        if os.path.lexists(path):
            return path
    return None


def read_config_file(path: str) -> str:
    """The text of a file given with -F; ConfigError if it cannot be read."""
    wanted = "-F names a file of client options: lines KEY=VALUE, as Java's .properties or librdkafka's"
    try:
        with open(os.path.expanduser(path), "rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigError(f"cannot read {path}", why=error.strerror or str(error), do=wanted) from None
    if len(data) > LARGEST_FILE:
        raise ConfigError(f"{path} is larger than 1 MiB", why="that is no file of client options", do=wanted)
    return data.decode("utf-8", "replace")
