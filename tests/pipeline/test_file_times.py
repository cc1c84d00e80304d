"""What files of an export say of the times of their records: by statistics where these suffice, and always the same."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kcli.core.errors import ConfigError
from kcli.flows.topics.lifetime import KEEPS_ALL, Tally, Terms
from kcli.pipeline.file_times import tally_file as tally_of_file
from kcli.pipeline.manifest import ExportedFile
from kcli.pipeline.parquet_files import SCHEMA
from kcli.pipeline.store.folder import FolderStore

TERMS = Terms(kept_from=500, accepted_from=300, accepted_to=900)
Rows = list[tuple[int | None, bytes | None]]
"""Time and key of each record."""


def write(path: Path, groups: list[Rows], first: int = 0) -> str:
    """A file with such row groups, whose offsets go up from ``first``."""
    with pq.ParquetWriter(path, SCHEMA, write_statistics=["offset", "timestamp", "key"]) as writer:
        for rows in groups:
            count = len(rows)
            columns = {
                "offset": list(range(first, first + count)),
                "timestamp": [time for time, _ in rows],
                "timestamp_type": ["CreateTime"] * count,
                "key": [key for _, key in rows],
                "value": [b"v"] * count,
                "headers": [[]] * count,
                "leader_epoch": [0] * count,
            }
            writer.write_table(pa.table(columns, schema=SCHEMA))
            first += count
    return str(path)


def plain(groups: list[Rows], start: int, terms: Terms) -> Tally:
    """Record by record."""
    found = Tally()
    for time, key in [row for rows in groups for row in rows][start:]:
        stamp = -1 if time is None else time
        fate = terms.fate(stamp, has_key=key is not None)
        found = found.joined(Tally(**{fate: 1}, oldest=-1 if fate == "no_key" else stamp))
    return found


def none() -> None:
    """A check that never ends it."""


def tally_file(path: str | Path, *of: Any) -> Tally:
    """Of a file in a folder."""
    found = Path(path)
    return tally_of_file(FolderStore(str(found.parent)), ExportedFile(found.name, 0, 1 << 40, 0, 0, ""), *of)


def test_statistics_suffice_unless_a_limit_is_within_a_row_group(tmp_path: Path) -> None:
    groups: list[Rows] = [
        [(0, b""), (299, b"")],
        [(300, None), (499, b"")],
        [(500, b""), (900, b"")],
        [(901, b"")],
    ]
    path = write(tmp_path / "f", groups)
    assert tally_file(path, "parquet", 0, TERMS, none) == Tally(2, 2, 2, 1, 0, oldest=0)
    assert tally_file(path, "parquet", 4, TERMS, none) == Tally(2, 0, 0, 1, 0, oldest=500)
    across = write(tmp_path / "g", [[(299, b""), (300, b"")]])
    assert tally_file(across, "parquet", 0, TERMS, none) == Tally(0, 1, 1, oldest=299, read=True)
    # A file whose first records are stored already.
    assert tally_file(across, "parquet", 1, TERMS, none) == Tally(0, 1, oldest=300, read=True)


def test_any_file_is_counted_as_record_by_record(tmp_path: Path) -> None:
    rng = random.Random(35)
    for number in range(60):
        at = sorted(rng.choices([-1, 0, 250, 299, 300, 400, 499, 500, 700, 900, 901, 2000], k=3))
        times: list[int | None] = [None, *at]
        groups: list[Rows] = [
            [(rng.choice(times), rng.choice([None, b"", b"k"])) for _ in range(rng.randint(1, 5))]
            for _ in range(rng.randint(1, 4))
        ]
        terms = rng.choice([TERMS, TERMS._replace(needs_keys=True), Terms(needs_keys=True), KEEPS_ALL])
        start = rng.randint(0, 6)
        found = tally_file(write(tmp_path / str(number), groups), "parquet", start, terms, none)
        assert found._replace(read=False) == plain(groups, start, terms), (groups, start, terms)


def test_text_is_read(tmp_path: Path) -> None:
    lines = [
        b'{"topic":"t","partition":0,"offset":%d,"timestamp":%d,"key":%s,"value":"v"}\n' % (n, time, key)
        for n, (time, key) in enumerate([(1, b'"k"'), (400, b'"k"'), (-1, b"null"), (600, b"null")])
    ]
    path = tmp_path / "f"
    path.write_bytes(b"".join(lines))
    found = tally_file(str(path), "ndjson", 1, TERMS._replace(needs_keys=True), none)
    assert found == Tally(expired=1, no_key=2, oldest=400, read=True)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"PAR1 and nothing")
    with pytest.raises(ConfigError, match="cannot be read"):
        tally_file(str(tmp_path / "f"), "parquet", 0, TERMS, none)
