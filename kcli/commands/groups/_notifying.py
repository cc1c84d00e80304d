"""``kcli groups lag --watch`` with ``--on-verdict`` and ``--webhook``: the channels that the options name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from kcli.commands.groups.lag_options import LagOptions
from kcli.commands.shared.context import Invocation
from kcli.flows.lag.notification import Channel, Deliver, Notifications, command_delivery
from kcli.flows.lag.webhook import Webhook, parse_webhook


@contextmanager
def notifying(inv: Invocation, asked: LagOptions, cluster: str) -> Iterator[Notifications]:
    """In the end, also where an exception ends it, what is queued is delivered; what was not counts for the status."""
    deliveries: dict[str, Deliver] = {}
    if asked.on_verdict is not None:
        deliveries["--on-verdict"] = command_delivery(asked.on_verdict, os.environ)
    if asked.webhook is not None:
        url = parse_webhook(asked.webhook, allow_plaintext_secrets=bool(inv.values.allow_plaintext_secrets))
        if url.address.authorization:
            inv.talk.warn(
                "the credentials in --webhook can be seen by all users of this machine, and the shell keeps them"
            )
        deliveries["--webhook"] = Webhook(url)
    channels = [
        Channel(option, deliver, cluster, inv.talk.warn, seconds=inv.timeout)
        for option, deliver in deliveries.items()
    ]
    try:
        yield Notifications(channels)
    finally:
        for channel in channels:
            if (error := channel.close()) is not None:
                inv.failed(error, partly=True)
