"""Header blocks of input records: their own headers, then the common headers from the command line."""

from collections.abc import Sequence

from kcli.core.kernels.active import encode_headers
from kcli.core.types import Header


class HeaderBlocks:
    """``of(own)`` returns the encoded block; the block of records without headers of their own is encoded once."""

    def __init__(self, common: Sequence[Header] = ()) -> None:
        self._common = list(common)
        self.none = encode_headers(self._common)

    def of(self, own: Sequence[Header]) -> bytes:
        """The block of a record that has ``own`` headers."""
        return encode_headers([*own, *self._common]) if own else self.none
