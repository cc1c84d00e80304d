"""The version of kcli."""

__version__ = "0.1.0"
