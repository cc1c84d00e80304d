"""Bulk calls of a cluster's administration, a module for each kind; ``admin.Admin`` is the client that has them all.

A module is imported when it is first used (PEP 562): listing topics does not load the messages of groups.
"""

from kcli.core.extras import modules_on_use

__getattr__ = modules_on_use(__name__)
