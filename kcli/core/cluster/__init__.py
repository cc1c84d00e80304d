"""The cluster as a client sees it: which broker leads what, where to send, what to retry."""

from kcli.core.extras import modules_on_use

__getattr__ = modules_on_use(__name__)
