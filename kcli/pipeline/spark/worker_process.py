"""A Python worker of Spark: a process that runs one task after another."""

import gc

_spared = False


def spare_imports() -> None:
    """Exempts what exists from garbage collection, once in a process; call it when the modules of a task are imported.

    pyspark's daemon collects garbage after each task. For the 100,000 objects of imported modules this takes as much
    CPU as decoding 150 MB of records.
    """
    global _spared  # noqa: PLW0603 - the state of a process
    if not _spared:
        _spared = True
        gc.freeze()
