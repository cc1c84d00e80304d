"""The output formats of the commands that print a report."""

REPORTS = ("table", "plain", "wide", "tsv", "csv", "json", "ndjson", "yaml")
