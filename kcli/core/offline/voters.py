"""What the quorum says of itself in control records of the metadata log and its snapshots (KIP-853). Pure."""

from collections.abc import Iterator

from kcli.core.errors import ProtocolError
from kcli.core.offline.stored_values import keys_and_values
from kcli.core.protocol.messages.control_records import KRaftVersionRecord, VotersRecord
from kcli.core.protocol.stored.reading import struct_of
from kcli.core.records.view import BatchView

_VERSION = 0


_KINDS: dict[int, type[VotersRecord] | type[KRaftVersionRecord]] = {5: KRaftVersionRecord, 6: VotersRecord}


def quorum_records(batch: BatchView) -> Iterator[VotersRecord | KRaftVersionRecord]:
    """Those of a control batch; there is one version of them yet. ProtocolError for one that cannot be read."""
    for offset, key, value in keys_and_values(batch):
        cls = _KINDS.get(int.from_bytes(key[2:4], "big")) if key is not None else None
        if cls is None or value is None:
            continue
        try:
            yield struct_of(cls, value, 0, _VERSION, _VERSION)
        except ProtocolError as error:
            raise ProtocolError(
                f"the control record at offset {offset} of the metadata log cannot be read", why=str(error)
            ) from None
