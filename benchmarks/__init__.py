"""Measurements of kcli beside its peers, in one run. Each module has a ``main()`` that prints."""
