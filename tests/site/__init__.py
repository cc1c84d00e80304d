"""The documentation site in a browser: ``make site-test``."""
