"""The parsers of all input formats; and ``-i failed``, which retries the inputs of a ``--failed`` file with them.

A line of it is ``{"line","reason","code","input","input_encoding","format","header"}``: ``input`` is the raw input,
``header`` the header line of a csv file. The other flags must be those of the first run.
"""

from collections.abc import Callable

import msgspec

from kcli.core.classes import replace
from kcli.core.errors import ConfigError
from kcli.flows.inputs.csv_rows import CsvParser
from kcli.flows.inputs.input_format import ENCODED, FORMATS, EncodingParser, InputFormat
from kcli.flows.inputs.item import BadInput, BadLine, InputError, InputRow, Item, Parser
from kcli.flows.inputs.kcat import kcat_parser
from kcli.flows.inputs.lines import LineFormat, LineParser, ParseLine, line_reader
from kcli.flows.inputs.ndjson import NOT_JSON, JsonLineParser, bad_json, data_of, ndjson_parser
from kcli.flows.inputs.pattern import PatternError, pattern_parser
from kcli.flows.inputs.raw import RawParser, WholeFileParser


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


_INPUT_PER_RECORD = 8  # a record as JSON may be longer by this factor


def parser_of(form: InputFormat) -> Parser:
    """The parser of a format, for one input."""
    return _encoding(form, _parser_of(form))


def _encoding(form: InputFormat, parser: Parser) -> Parser:
    """Adds what values name, and encoding to formats without encodings of their own, which give texts. The key of
    ``-k``, or from a value, is already encoded.
    """
    if form.kind == "failed":
        return parser
    keys = form.how.key is None
    if form.from_value is not None:
        from kcli.flows.inputs.from_value import FromValueParser  # only where values name something

        parser, keys = (
            FromValueParser(parser, form.from_value, form.encoding),
            keys and form.from_value.key is None,
        )
    if not form.encoding or form.kind in ENCODED:
        return parser
    return EncodingParser(parser, form.encoding, keys=keys)


def _parser_of(form: InputFormat) -> Parser:
    how, longest = form.how, form.longest
    wide = _INPUT_PER_RECORD * longest + (1 << 16)
    match form.kind:
        case "lines":
            return LineParser(line_reader(how), delimiter=how.delimiter, longest=longest)
        case "value":
            return _OneLine(how)
        case "ndjson":
            return ndjson_parser(form.blocks, form.encoding, longest=wide)
        case "kcat":
            return kcat_parser(form.blocks, form.encoding, longest=wide)
        case "raw":
            return RawParser(key=how.key, headers=how.headers, longest=longest)
        case "csv" | "csv-objects" as kind:
            objects = True if kind == "csv-objects" else None
            return CsvParser(
                form.blocks, how, longest=wide, encoding=form.encoding, objects=objects, headed=form.headed
            )
        case "file":
            return WholeFileParser(key=how.key, headers=how.headers, longest=longest)
        case "failed":
            return failed_parser(lambda kind: _again(form, kind), longest=2 * wide)
        case "pattern":
            try:
                return pattern_parser(form.pattern, how, form.blocks, longest=wide)
            except PatternError as error:
                raise ConfigError(
                    f"-f '{form.pattern}' is not a valid input pattern", why=str(error), do="see --help"
                ) from None
    raise ConfigError(
        f"there is no input format {form.kind!r}",
        why=f"known are {', '.join(FORMATS)}",
        do="choose one of them with -i",
    )


def _again(form: InputFormat, kind: str) -> Parser:
    """The parser for an input that failed: it is complete, so only its end ends it."""
    if kind == "pattern" and not form.pattern:
        raise BadLine("it was read by a pattern: give the same -f again")
    if kind == "failed" or kind not in (*FORMATS, "pattern"):
        raise BadLine(f"its format {kind!r} is unknown")
    one = replace(form, kind=kind, headed=len)
    return _encoding(one, _OneLine(form.how)) if kind == "lines" else parser_of(one)


class _OneLine:
    """A whole line, whatever it contains."""

    def __init__(self, how: LineFormat) -> None:
        self._parse = line_reader(how)
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> list[Item]:
        """Returns no records yet."""
        self._pieces.append(data)
        return []

    def finish(self) -> list[Item]:
        """The line."""
        found = self._parse(b"".join(self._pieces), 1)
        return [] if found is None else [found]
