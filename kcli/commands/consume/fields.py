"""``kcli consume --select``, ``--by``, ``--distinct``, and paths of ``-f``: their fields, formats, and what has none."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kcli.commands.consume.options import ConsumeOptions
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.params import raw_bytes
from kcli.commands.shared.usage import usage
from kcli.core.consumer.fetched import FetchedBatch
from kcli.flows.consume.distinct import DistinctFilter
from kcli.flows.filters.field_paths import FieldPathError, FieldReader, parse_fields
from kcli.flows.filters.selection import BatchFields, Mask, wanted_mask
from kcli.output import fields as formats
from kcli.output.progress import counted
from kcli.output.tables import Column
from kcli.output.template import Extra, TemplateError, Wanted

if TYPE_CHECKING:
    from kcli.commands.consume.decoding import Decoding

SELECTED: tuple[Column, ...] = ()
"""The fields are those of the command line."""
_TAKEN = ("count", "kind")


class ChosenFields:
    """The readers of a run: ``select``, ``by`` and ``distinct``, each None unless it was asked for. ``kind`` is
    the format: some print whole records.
    """

    def __init__(self, asked: ConsumeOptions, kind: str, decoding: "Decoding | None") -> None:
        self._asked, self._decoding = asked, decoding
        shown = asked.select
        if shown is None and not (
            asked.count or asked.template is not None or kind in ("pretty", "raw", "hex", "kcat")
        ):
            shown = asked.distinct
        self._distinct = self._reader("--distinct", asked.distinct)
        self.select = self._reader("--select", shown)
        self.by = self._reader("--by", asked.by)
        self.distinct = None if self._distinct is None else DistinctFilter(self._distinct)
        self._formatter: formats.FieldsFormatter | None = None
        self._members: list[FieldReader] = []

    def _reader(self, option: str, text: str | None) -> FieldReader | None:
        if text is None:
            return None
        decoding = self._decoding
        key, value = (decoding.key, decoding.value) if decoding is not None else (None, None)
        try:
            fields = parse_fields(text)
        except FieldPathError as error:
            raise usage(
                f"kcli consume: {option} {text!r} is not a list of fields",
                why=str(error),
                do=f"as in {option} 'key,value.customer.id'",
            ) from None
        if option == "--by" and (taken := [field.name for field in fields if field.name in _TAKEN]):
            raise usage(
                f"kcli consume: --by {text!r} names a field {taken[0]}",
                why="that name has another meaning in what is printed",
                do=f"give it another one: as the_{taken[0]}",
            )
        return FieldReader(fields, key, value)

    @property
    def paths(self) -> Iterator[tuple[str, tuple[str | int, ...]]]:
        """Options, and the fields that they name: ``("value", "customer", "id")``."""
        readers = (
            ("--select", self._asked.select and self.select),
            ("--by", self.by),
            ("--distinct", self._distinct),
        )
        for option, reader in (*readers, *(("-f", reader) for reader in self._members)):
            for field in reader.fields if reader else ():
                yield option, (field.root, *field.path)

    @property
    def readers(self) -> list[FieldReader]:
        """All readers; that of ``--select`` may be that of ``--distinct``."""
        return [one for one in (self.select, self.by, self._distinct, *self._members) if one is not None]

    def formatter(self, inv: Invocation, cluster_id: Callable[[], str | None]) -> formats.FieldsFormatter:
        """The formatter of ``select`` for ``-o``."""
        assert self.select is not None
        self._formatter = self._made(inv, self.select, cluster_id)
        return self._formatter

    def _made(
        self, inv: Invocation, reader: FieldReader, cluster_id: Callable[[], str | None]
    ) -> formats.FieldsFormatter:
        asked, names = self._asked, [field.name for field in reader.fields]
        null = b"" if asked.null_marker is None else raw_bytes(asked.null_marker)

        def rows(fetched: FetchedBatch, limit: int | None, selected: bytes | bytearray) -> formats.Rows:
            mask, last = wanted_mask(fetched, limit, selected)
            count = mask.count(1)
            return reader.rows(BatchFields(fetched), mask) if count else (), count, last

        match asked.format_kind(inv.values.output):
            case "csv":
                return formats.FieldsCsv(names, rows, null, headers=inv.out.headers)
            case "table":
                return formats.FieldsTable(names, rows, headers=inv.out.headers, width=inv.out.width)
            case "ndjson":
                return formats.FieldsNdjson(names, rows)
            case "json":
                from kcli.output.envelope import record_document  # json is loaded only where it is used

                ends = record_document(cluster_id, inv.talk.warnings, inv.missing, kind="RecordFieldsList")
                return formats.FieldsJson(names, rows, *ends)
        return formats.FieldTexts(names, rows, asked.delimiter or b"\n", null)

    def member(self, path: str) -> Extra:
        """The column of a path of ``-f``, as in ``%v{.a.b}``: see ``Template``."""
        try:
            fields = parse_fields(path)
        except FieldPathError as error:
            raise TemplateError(f"{path!r} is not a path: {error}") from None
        decoding = self._decoding
        reader = FieldReader(fields, *((decoding.key, decoding.value) if decoding is not None else ()))
        self._members.append(reader)
        null = b"" if self._asked.null_marker is None else raw_bytes(self._asked.null_marker)

        def column(wanted: Wanted) -> list[bytes]:
            found, mask = [b""] * len(wanted.columns.offset_deltas), Mask(len(wanted.columns.offset_deltas))
            indices = [] if wanted.fetched.batch.is_control else list(wanted.indexes())
            for index in indices:
                mask[index] = 1
            for index, row in zip(indices, reader.rows(BatchFields(wanted.fetched), mask), strict=True):
                text = formats.text_of(row[0])
                found[index] = null if text is None else text
            return found

        return column

    def report(self, inv: Invocation) -> int:
        """Notes on what could not be looked into; returns how many keys and values could not be decoded."""
        undecoded = 0
        readers = [("-f", reader) for reader in self._members]
        chosen = {"--select": self.select, "--by": self.by, "--distinct": self._distinct}
        if self._asked.select is None:
            del chosen["--select"]  # it is that of --distinct
        readers += [(option, reader) for option, reader in chosen.items() if reader is not None]
        for option, reader in readers:
            if reader.skipped:
                undecoded += reader.undecoded
                many = counted(reader.skipped, "key or value", "keys or values")
                inv.talk.warn(f"{option}: null in place of paths into {many}; the first: {reader.first}")
        encoded = getattr(self._formatter, "encoded", 0)
        if encoded:
            inv.talk.note(f"{counted(encoded, 'cell')} not UTF-8, in base64")
        return undecoded

    def close(self) -> None:
        """Removes what is on disk."""
        if self.distinct is not None:
            self.distinct.close()
