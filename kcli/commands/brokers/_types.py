"""The arguments that name brokers."""

from kcli.commands.shared.options import CountType

BROKER = CountType(0, 2**31 - 1)
