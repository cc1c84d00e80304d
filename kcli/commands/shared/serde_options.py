"""``-s`` and the related options of commands. What they mean is in ``serdes.py``, loaded where ``-s`` is used."""

from collections.abc import Callable
from typing import Any

import click

from kcli.commands.shared.params import SERDE, SERDES_BOTH_WAYS


def serde_option(text: str) -> Callable[[Any], Any]:
    """``-s``; ``{names}`` in its help becomes the serdes that both read and write."""
    return click.option(
        "-s",
        "--serde",
        "serdes",
        type=SERDE,
        multiple=True,
        metavar="[key=|value=]SERDE",
        help=text.format(names=", ".join(SERDES_BOTH_WAYS)),
    )
