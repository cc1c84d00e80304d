"""Reads the files that give client options: those of ``-F``, and the ``config.toml`` of the user and of the system."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kcli.core.errors import ConfigError
from kcli.files.reading import FileState, NotAFileError, TooLargeError, read_bounded
from kcli.files.xdg import config_home
from kcli.profiles.pairs import Report

if TYPE_CHECKING:
    from kcli.profiles.config_file import ConfigFile

SYSTEM_CONFIG = "/etc/kcli/config.toml"
_PROPERTIES = "-F names a file of client options: lines KEY=VALUE, as Java's .properties or librdkafka's"
_TOML = "move it away, then `kcli profile add NAME -b HOST:PORT` writes a new one"


def config_paths() -> tuple[str, ...]:
    """The ``config.toml`` of this user and of the system, whether they exist or not."""
    return str(config_home() / "config.toml"), SYSTEM_CONFIG


class SourceFiles:
    """Reads files of options; ``states`` has owner and mode of each that was read, by path."""

    def __init__(self) -> None:
        self.states: dict[str, FileState] = {}

    def properties(self, path: str) -> str:
        """The text of a file given with -F; ConfigError if it cannot be read."""
        return self._text(path, _PROPERTIES)

    def configs(self, report: Report) -> "Sequence[ConfigFile]":
        """The ``config.toml`` files that exist."""
        found = []
        for path in config_paths():
            if not os.path.lexists(path):
                continue
            from kcli.profiles.config_file import ConfigFile  # tomllib: only where there is such a file

            try:
                found.append(ConfigFile(path, self._text(path, _TOML), report))
            except ConfigError as error:
                report(error)
        return found

    def _text(self, path: str, wanted: str) -> str:
        try:
            data, self.states[path] = read_bounded(path)
        except TooLargeError:
            raise ConfigError(
                f"{path} is larger than 1 MiB", why="that is no file of options", do=wanted
            ) from None
        except NotAFileError as error:
            raise ConfigError(f"{path} is no file", why=str(error), do=wanted) from None
        except OSError as error:
            raise ConfigError(f"cannot read {path}", why=error.strerror or str(error), do=wanted) from None
        return data.decode("utf-8", "replace")
