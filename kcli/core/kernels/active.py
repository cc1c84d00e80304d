"""The hot functions over record bytes, from the C twin if it is built, else from Python.

``KCLI_IMPL=pure`` or ``native`` selects one; ``native`` raises an error if the extension is missing.
``IMPLEMENTATION`` says which one is in use.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kcli.core.errors import ConfigError

if TYPE_CHECKING:
    from kcli.core.kernels import pure as _chosen

    IMPLEMENTATION = "pure"
else:

    def _choose(wanted: str):
        """The module of the kernels and its name."""
        if wanted not in ("", "pure", "native"):
            raise ConfigError(f"KCLI_IMPL={wanted}", why="it is neither pure nor native")
        if wanted != "pure":
            try:
                return import_module("kcli.core.kernels._native"), "native"
            except ModuleNotFoundError as missing:
                if wanted == "native":
                    raise ConfigError(
                        "KCLI_IMPL=native",
                        why="this installation has no native kernels",
                        do="unset KCLI_IMPL, or install a wheel built for this platform",
                    ) from missing
        return import_module("kcli.core.kernels.pure"), "pure"

    _chosen, IMPLEMENTATION = _choose(os.environ.get("KCLI_IMPL", ""))

NATIVE: Any = _chosen if IMPLEMENTATION == "native" else None
"""The C module, for what is no kernel (``core/arrow/export.py``); None where Python is in use."""

arrow_columns = _chosen.arrow_columns
check_log = _chosen.check_log
crc32c = _chosen.crc32c
crc32c_patch = _chosen.crc32c_patch
decode_columns = _chosen.decode_columns
decode_headers = _chosen.decode_headers
decode_run = _chosen.decode_run
decode_values = _chosen.decode_values
digest_records = _chosen.digest_records
encode_columns = _chosen.encode_columns
encode_headers = _chosen.encode_headers
encode_keyed = _chosen.encode_keyed
encode_lines = _chosen.encode_lines
encode_record = _chosen.encode_record
encode_rows = _chosen.encode_rows
encode_slices = _chosen.encode_slices
encode_text = _chosen.encode_text
fill_lines = _chosen.fill_lines
find_in_records = _chosen.find_in_records
group_columns = _chosen.group_columns
group_slices = _chosen.group_slices
group_values = _chosen.group_values
index_text = _chosen.index_text
join_run = _chosen.join_run
json_texts = _chosen.json_texts
mark_lines = _chosen.mark_lines
mark_runs = _chosen.mark_runs
measure_columns = _chosen.measure_columns
murmur2 = _chosen.murmur2
partition_keys = _chosen.partition_keys
read_rows = _chosen.read_rows
render_records = _chosen.render_records
scan_batches = _chosen.scan_batches
walk_batches = _chosen.walk_batches
