"""The reference of the documentation site as Markdown: a page for each command, concept and kind of JSON. Pure.

A rendering like the man pages, but not committed: ``make site`` makes it, and only then is it looked at.
"""
