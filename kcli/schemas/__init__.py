"""JSON Schemas (draft 2020-12) of all that kcli prints as JSON: a file for each kind, which only ``kcli schema`` reads.

A file may refer to other kinds, and to ``common.json``: what has the same name and the same meaning in several kinds.
Schemas are open (``additionalProperties``), because properties may be added within ``kcli/v1``.
"""
