"""The checksum of batches: its published vectors, in pieces, on any kind of buffer, without costly imports."""

import subprocess
import sys

import pytest

from kcli.core.kernels.active import crc32c


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", 0), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43)],
)
def test_vectors_of_rfc_3720(data: bytes, expected: int) -> None:
    assert crc32c(data) == expected
    assert crc32c(memoryview(bytearray(data))) == expected


def test_pieces_give_what_the_whole_gives() -> None:
    data = bytes(range(256)) * 50
    for cut in (0, 1, 61, 5000, len(data)):
        assert crc32c(data[cut:], crc32c(data[:cut])) == crc32c(data)


def test_the_package_with_its_slow_import_is_left_out() -> None:
    code = (
        "import sys; from kcli.core.kernels.active import crc32c; crc32c(b'x');"
        "print(int('importlib.metadata' in sys.modules)); import crc32c as other;"
        "print(int(other.crc32c(b'x') == crc32c(b'x')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["0", "1"]


def test_batches_are_imported_without_codecs() -> None:
    code = (
        "import sys, kcli.core.records.builder;"
        "print([name for name in ('zlib', 'lz4', 'cramjam', 'isal', 'backports.zstd', 'crc32c', 'json', 'logging')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
