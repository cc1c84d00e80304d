"""The version of kcli."""

__version__ = "0.9.0"
