"""What ``kcli exporter`` collects besides groups: a module for each collector, pure from what was read to samples.

``reading.py`` asks the brokers, ``choice.py`` has the names for ``--collect``.
"""
