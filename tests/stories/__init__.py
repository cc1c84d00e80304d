"""Pages of the documentation whose ```console blocks are run: ``python -m tests.stories`` runs, compares and writes them.

``page`` reads a page, ``shell`` is the terminal that it is typed at, ``story`` does both, ``masks`` has what differs from
run to run, ``clusters`` are the brokers. The test is ``tests/integration/test_stories.py``.
"""
