"""``-i failed``: retries the inputs of a ``--failed`` file, each with the parser of its original format.

A line is ``{"line","reason","code","input","input_encoding","format","header"}``: ``input`` is the raw input,
``header`` the header line of a csv file. The other flags must be those of the first run.
"""

from collections.abc import Callable

import msgspec

from kcli.flows.inputs.item import BadInput, BadLine, InputError, InputRow, Parser
from kcli.flows.inputs.json_lines import JsonLineParser
from kcli.flows.inputs.lines import ParseLine
from kcli.flows.inputs.ndjson import NOT_JSON, bad_json, data_of


class _Entry(msgspec.Struct):
    input: str | msgspec.UnsetType | None = msgspec.UNSET
    input_encoding: str | None = None
    format: str = "lines"
    header: str | None = None


def failed_parser(parser: Callable[[str], Parser], *, longest: int) -> JsonLineParser:
    """The parser for a ``--failed`` file; ``parser`` makes the parser of a format, or raises BadLine."""
    return JsonLineParser(_reader(parser), _Entry.__struct_fields__, longest=longest)


def _reader(parser: Callable[[str], Parser]) -> ParseLine:
    decode = msgspec.json.Decoder(_Entry).decode

    def parse(line: bytes, number: int) -> InputRow | None:
        if not line or line.isspace():
            return None
        try:
            entry = decode(line)
        except NOT_JSON as error:
            raise bad_json(error, line) from None
        if entry.input is msgspec.UNSET:
            raise BadLine("it has no `input`: is it a line of a --failed file?")
        data = data_of(entry.input, entry.input_encoding, "input")
        if data is None:
            raise BadLine("its input was too long to be kept")
        again = parser(entry.format)
        try:
            items = again.feed(entry.header.encode() + b"\n") if entry.header is not None else []
            items = [*items, *again.feed(data), *again.finish()]
        except InputError as error:  # this line's own input, not that of the run
            raise BadLine(str(error)) from None
        if len(items) != 1:
            raise BadLine(f"its input is {len(items)} records, not one")
        if isinstance(items[0], BadInput):
            raise BadLine(items[0].reason, items[0].column)
        return items[0]._replace(line=number, raw=line)

    return parse
