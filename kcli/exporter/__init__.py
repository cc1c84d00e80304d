"""The figures of ``kcli top`` for Prometheus: one sample after another, each as a page of text that all scrapes share.

``loop`` reads the cluster in a thread of its own, ``page`` makes the text (pure), ``server`` sends it. Only ``health``
imports prometheus_client.
"""
