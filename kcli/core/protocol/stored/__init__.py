"""Records that brokers keep in their internal topics, one file per topic: tables as those of messages. Loaded on use."""

from kcli.core.extras import modules_on_use

__getattr__ = modules_on_use(__name__)
