"""Tests of ``kcli pipeline``."""
