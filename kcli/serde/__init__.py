"""Conversion between record bytes and values: ``-s [key=|value=]SERDE``, schemas from files and registries, internal
topics.

``names.parse_serdes`` parses the options, ``opening.open_serdes`` creates the serdes, a ``serde.Serde`` decodes and
encodes. Libraries are loaded only when a serde that needs them is opened.
"""
