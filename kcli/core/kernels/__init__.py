"""The hot functions over record bytes, implemented in C (``native``) and in Python (``pure``), its specification.

Import them from ``active``, which selects one; their arguments and results are described in ``shapes`` and
``render_ops``.
"""
