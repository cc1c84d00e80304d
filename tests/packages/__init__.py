"""Installs what `make dist` has built as users do, and runs it: `make dist-test`.

Not tests of pytest: an installation takes minutes, PyPI and, for those in a fresh Debian, root. The tables are tested by
``tests/checks/test_packages.py``.
"""
