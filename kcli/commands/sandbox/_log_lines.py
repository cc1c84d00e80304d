"""What ``kcli sandbox logs`` prints: the ends of the logs of all nodes, then what is added to them."""

import time
from pathlib import Path

from kcli.commands.sandbox._statuses import missing, named
from kcli.commands.shared.context import Invocation
from kcli.output.sanitise import visible_line
from kcli.sandbox import log_file

_POLL = 0.2


def print_logs(inv: Invocation, name: str | None, lines: int, follow: bool) -> int:
    """Prints the end of the brokers' logs. Returns the exit status."""
    wanted = named(name)
    files = wanted.logs()
    if not files:
        raise missing(wanted.name)
    ends = {node: file.stat().st_size for node, file in files.items()}
    for node, file in files.items():
        for line in log_file.tail(file, lines):
            _log_line(inv, node, line, len(files))
    inv.out.flush()
    if follow:
        _follow(inv, files, ends)
    return 0


def _follow(inv: Invocation, files: dict[str, Path], ends: dict[str, int]) -> None:
    """Prints added lines indefinitely; a log that became shorter is read from its start."""
    rests = dict.fromkeys(files, b"")
    while True:
        for node, file in files.items():
            if file.exists() and file.stat().st_size < ends[node]:
                ends[node] = 0
            added = b"".join(log_file.follow(file, ends[node])) if file.exists() else b""
            ends[node] += len(added)
            *complete, rests[node] = (rests[node] + added).split(b"\n")
            for line in complete:
                _log_line(inv, node, line.decode("utf-8", "replace"), len(files))
        inv.out.flush()
        time.sleep(_POLL)


def _log_line(inv: Invocation, node: str, line: str, files: int) -> None:
    # The log contains names of clients unchanged.
    text = visible_line(line) if inv.out.isatty else line
    inv.out.text(f"{node}  {text}\n" if files > 1 else f"{text}\n")
