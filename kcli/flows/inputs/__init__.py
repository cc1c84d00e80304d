"""The input formats of ``produce -i``: one file per format, each a pure parser from bytes to rows."""
