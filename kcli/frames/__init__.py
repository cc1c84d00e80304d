"""Topics and exports as data frames, and back: ``kcli.read_topic``, ``kcli.read_export`` and ``kcli.write_topic``."""
