"""The producer: batches per partition, a sender thread, idempotence."""

from kcli.core.extras import modules_on_use

__getattr__ = modules_on_use(__name__)
