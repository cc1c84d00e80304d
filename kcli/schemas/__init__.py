"""JSON Schemas (draft 2020-12) of what kcli prints as JSON, a file for each kind, which only ``kcli schema`` reads: those
that are not made of columns (``docgen/lists.py``, ``flows/changes.py``).

A file may refer to other kinds, and to ``common.json``, which is made of ``docgen/common_keys.py``. Schemas are open
(``additionalProperties``), because properties may be added within ``kcli/v1``.
"""
