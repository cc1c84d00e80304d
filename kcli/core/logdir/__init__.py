"""Log directories of brokers, read from their files: no socket, no thread, nothing is ever written.

``folders.find`` says what is in a path, ``partition_log.PartitionLog`` reads one partition, ``replicas.choose_replica``
chooses among several; most other modules have one file format each.
"""

from kcli.core.extras import modules_on_use

__getattr__ = modules_on_use(__name__)
