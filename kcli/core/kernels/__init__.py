"""The hot functions over record bytes, implemented in C (``native``) and in Python (``pure``), its specification.

Import them from ``active``, which selects one; their arguments and results are described in ``shapes`` and
``render_ops``.

The C files, from the bottom up. Without Python objects and without the GIL: ``varint.h``; ``reader`` (untrusted
bytes to positions); ``quick.h`` (the common record without a call, everything else in ``reader``); ``writer.h``
(fields to bytes); ``lines`` (a region of text to lines, keys and values); ``output`` with ``json``, ``base64``,
``utf8`` and ``decimal``; ``scratch``, ``checksum``. Between them and Python: ``module`` (the table of the kernels,
arguments, errors), ``values``, ``program``. On top, one file for each group of kernels. Work on more than 64 KB
releases the GIL, with references held to all that is read.

Both implementations report the same error for damaged bytes, word for word: ``tests/parity`` runs every test on
both and compares them on 20,000 mutated payloads next to memory that must not be read; ``make sanitize`` repeats
it with 250,000 under AddressSanitizer and UndefinedBehaviorSanitizer. The fast loops of ``pure`` may detect late
that a record is invalid; they then read strictly from the start, so that the first invalid record is named.

Without a compiler or Python's headers everything is ``pure``, after one notice; ``KCLI_NO_EXT=1`` requests that.
Where both are installed, missing kernels fail the tests. The limited API of 3.11 gives one wheel for all later
Pythons, except those without the GIL: these have no limited API and build their own.
"""
