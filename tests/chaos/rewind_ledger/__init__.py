"""A ledger of randomized live rewinds: ``python -m tests.chaos.rewind_ledger --seed 1 --cells 200 --jobs 6``.

A cell is one group whose members, their clients, commit habits and accidents are drawn from a seed. It is rewound with
``kcli groups rewind --live`` as it runs; what its members then read decides for each partition whether the report of
the rewind was true.
"""
