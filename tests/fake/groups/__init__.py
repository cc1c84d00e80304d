"""The group coordinator of the fake cluster; ``coordinator.py`` is its front. Tests of it stand beside it.

Every table and most sequences here were run against Apache Kafka 4.3.1 as well, and gave the same answers.
"""
