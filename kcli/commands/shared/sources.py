"""The sources of a run's client options: command line, files, environment, profiles, a running sandbox."""

import os
from collections.abc import Callable, Mapping

from kcli.commands.shared.global_values import ClusterWords, GlobalValues
from kcli.profiles.sources import COMMAND_CONFIG, SourceFiles, Sources

FindSandbox = Callable[[], tuple[str, Mapping[str, str]] | None]


def sources_of(given: GlobalValues | ClusterWords, find_sandbox: FindSandbox) -> Sources:
    """For ``profiles.resolve``; nothing is read yet."""
    files = SourceFiles()
    return Sources(
        flags={
            "bootstrap.servers": given.bootstrap_server,
            "log.dirs": ",".join(given.from_dir) or None,
            "client.id": given.client_id,
            "map.address": ",".join(given.map_address) or None,
            "allow.plaintext.secrets": "true" if given.allow_plaintext_secrets else None,
        },
        properties=given.command_property,
        files=files_of(given),
        files_from_variable=not given.command_config,
        environ=os.environ,
        read_file=files.properties,
        file_state=files.states.get,
        config_files=files.configs,
        find_sandbox=find_sandbox,
        sandbox=_sandbox,
        profile=given.profile,
        user=os.getuid(),
    )


def files_of(given: GlobalValues | ClusterWords) -> tuple[str, ...]:
    """The files of client options: those of ``-F``, else that of the variable."""
    return tuple(given.command_config) or tuple(filter(None, [os.environ.get(COMMAND_CONFIG)]))


def _sandbox(name: str) -> Mapping[str, str]:
    from kcli.sandbox.discovery import options_of  # only where a sandbox is named

    return options_of(name)
