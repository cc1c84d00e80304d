"""The log directories of brokers, and what of them is missing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from kcli.account.survey import Missing
from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.flows.cluster_state import ASKED, BrokerState

if TYPE_CHECKING:
    from kcli.core.admin.brokers import LogDir

LogDirs = dict[int, list["LogDir"]]


def read_log_dirs(
    inv: Invocation, admin: Admin, brokers: Sequence[BrokerState], named: Collection[int] | None = None
) -> LogDirs:
    """The directories of the brokers that responded; errors of brokers and of directories are failures. ``named``: only
    of these.
    """
    found: LogDirs = {}
    for number, directories in admin.describe_log_dirs(broker_ids=named).items():
        if isinstance(directories, KcliError):
            inv.lacks(Missing.of(directories))
            continue
        found[number] = directories
        for directory in directories:
            if directory.error is not None:
                error = directory.error
                error.what = f"broker {number}: {error.what}"
                inv.lacks(Missing(error.what, f"broker {number}", error))
    for broker in brokers:
        if broker.state not in ASKED:
            inv.lacks(_unknown(broker))
    return found


def _unknown(broker: BrokerState) -> Missing:
    error = KcliError(
        f"log directories of broker {broker.number} are unknown",
        why=f"the broker is {broker.state}",
        do="bring it back, and run this again",
    )
    return Missing(f"the log directories of broker {broker.number}", f"broker {broker.number}", error)
