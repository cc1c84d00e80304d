"""Runs the screen of ``kcli top``: signals end it in order, and a defect of kcli leaves a file with its traceback."""

import gc
import os
import platform
import sys
import time
import traceback
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from kcli import __version__
from kcli.core.errors import KcliError
from kcli.core.secret import Secret
from kcli.files.atomic import make_private_folder, replace_file
from kcli.files.xdg import state_home
from kcli.flows.stop import Stop
from kcli.output.sanitise import visible
from kcli.tui.app import TopApp

_REPORTED = (KcliError, OSError, MemoryError)
"""What has a message of its own, as everywhere."""
_HIDDEN = "(hidden)"
_SHORTEST = 4
"""Characters of a secret that is replaced wherever it occurs: a shorter one would be found in other words."""


def run_screen(app: TopApp, secrets: Collection[str]) -> int:
    """128 + the number of the signal that ended it, or 0. Raises the error that did.

    ``secrets`` are masked in what a defect of kcli is reported with.
    """

    def end(status: int) -> None:
        app.leave_at_once()
        os._exit(status)

    gc.freeze()  # what was imported lives as long as the screen: no key has to wait until it was searched for garbage
    sys.setswitchinterval(0.001)  # the thread that reads the cluster hands over to keys sooner
    with Stop(end=end) as stop:
        stop.wake(app.leave)
        error = _ran(app)
    if stop and (error is None or isinstance(error, KcliError)):
        return stop.exit_code
    if error is None:
        return 0
    if isinstance(error, Exception) and not isinstance(error, _REPORTED):
        raise _defect(error, secrets) from None
    raise error


def _ran(app: TopApp) -> BaseException | None:
    """What ended it, if anything did, also while it ended."""
    try:
        app.run()
    except Exception as error:  # noqa: BLE001 - the first error is reported
        return app.error or error
    return app.error


def revealed(options: Any) -> list[str]:
    """The secrets among the values of options."""
    values = (getattr(options, name, None) for name in options.__dataclass_fields__)
    return [one.reveal() for one in values if isinstance(one, Secret)]


def _defect(error: BaseException, secrets: Collection[str]) -> KcliError:
    path = _keep(masked(_report(error), secrets))
    what = masked(f"internal error: {type(error).__name__}: {error}", secrets)
    where = "" if path is None else f"{path} has the traceback"
    return KcliError(what, why="this is a defect of kcli", do=f"report it; {where}" if where else "report it")


def masked(text: str, secrets: Collection[str]) -> str:
    """The text without them, the longest ones first."""
    for secret in sorted((one for one in secrets if len(one) >= _SHORTEST), key=len, reverse=True):
        for form in (secret, repr(secret)[1:-1]):
            text = text.replace(form, _HIDDEN)
    return text


def _report(error: BaseException) -> str:
    """What a defect is found with; the values of variables are not part of it."""
    from importlib.metadata import version  # with it come zip files and mails: only for defects

    lines = [
        f"kcli {__version__}, Python {platform.python_version()}, Textual {version('textual')}, {platform.platform()}",
        f"TERM={os.environ.get('TERM', '')}",
        "",
        *(part.rstrip("\n") for part in traceback.format_exception(error)),
    ]
    return "".join(visible(line) + "\n" for line in lines)


def _keep(text: str) -> Path | None:
    """A new file for this user only; None where there can be none."""
    folder = state_home() / "crashes"
    with suppress(KcliError, OSError):
        make_private_folder(folder, KcliError)
        path = folder / f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}-top.txt"
        replace_file(str(path), text.encode("utf-8", "backslashreplace"), mode=0o600)
        return path
    return None
