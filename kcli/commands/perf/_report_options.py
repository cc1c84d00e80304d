"""The options that all tests have on what they report."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import click

from kcli.commands.shared.options import DurationType
from kcli.commands.shared.params import Word
from kcli.commands.shared.usage import usage
from kcli.flows.perf.limits import KEYS, parse_limit, unmeasured

LIMIT = Word("condition", parse_limit, tuple(f"{name}>" for name in KEYS))


def report_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--reporting-interval``, ``--fail-if`` and ``--html``."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


_OPTIONS = (
    click.option(
        "--reporting-interval",
        type=DurationType(positive=True),
        default="5s",
        metavar="DURATION",
        help="How often a line of figures is written while the test runs.  [default: 5s]",
    ),
    click.option(
        "--fail-if",
        "fail_if",
        type=LIMIT,
        multiple=True,
        metavar="CONDITION",
        help="Exit with 8 if this is true at the end, as 'p99>50ms', 'rate<100k' or 'errors>0'; repeatable.",
    ),
    click.option(
        "--html",
        metavar="FILE",
        help="Also write the result as a page with plots; it is replaced atomically.",
    ),
)


def check_report_flags(flags: Mapping[str, Any], test: str, *, checked: bool) -> None:
    """Usage errors for what a test will not measure, and for a page that could not be written after it.

    ``checked``: whether it compares the records that it reads.
    """
    why = None if flags["html"] is None else _unwritable(flags["html"])
    if why is not None:
        raise usage(
            f"perf {test}: --html {flags['html'] or '(empty)'} cannot be written",
            why=why,
            do="name a file in a folder of yours; nothing was run",
        )
    for limit in flags["fail_if"]:
        why = unmeasured(limit, test, checked=checked)
        if why is not None:
            raise usage(
                f"perf {test}: --fail-if {limit.text} can never be judged",
                why=why,
                do="leave it out, or limit what is measured: " + _measured(test, checked=checked),
            )


def _unwritable(path: str) -> str | None:
    """Why the file cannot be written; None if it can."""
    if not path:
        return "the name is empty; perhaps a variable is not set"
    if os.path.exists(path) and not os.path.isfile(path):
        return "it is not a regular file, and would be replaced by one"
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        return "its folder does not exist, or may not be written to"
    return None


def _measured(test: str, *, checked: bool) -> str:
    limits = {name: parse_limit(f"{name}>1{'s' if 'latency' in key else ''}") for name, key in KEYS.items()}
    return ", ".join(
        name for name, limit in limits.items() if unmeasured(limit, test, checked=checked) is None
    )
