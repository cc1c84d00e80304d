"""A cluster under observation: readings at intervals, and what they show of groups, topics and brokers.

``kcli top`` and ``kcli exporter`` show it. ``monitor`` asks brokers; everything else is pure.
"""
