"""Folders for what only this user may read: journals."""

import os
from pathlib import Path

from kcli.core.errors import KcliError
from kcli.files.atomic import sync_folder


def make_private_folder(folder: Path, failure: type[KcliError]) -> None:
    """Creates the folder, on disk on return; raises ``failure`` if that is not possible."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.chmod(folder, 0o700)
        sync_folder(str(folder.parent))
    except OSError as error:
        raise failure(
            f"cannot create the directory {folder}",
            why=(error.strerror or str(error)).lower(),
            do="set XDG_STATE_HOME to a writable directory",
        ) from None
