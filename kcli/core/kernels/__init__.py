"""The hot functions over the bytes of records, twice: in C (``native``) and in Python (``pure``), its specification.

Import them from ``active``, which chooses; what they take and return is described in ``shapes`` and ``render_ops``.
"""
