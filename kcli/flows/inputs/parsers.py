"""The parsers of all input formats."""

from dataclasses import replace

from kcli.core.errors import ConfigError
from kcli.flows.inputs.csv_rows import CsvParser
from kcli.flows.inputs.encoding import EncodingParser
from kcli.flows.inputs.failed import failed_parser
from kcli.flows.inputs.input_format import FORMATS, InputFormat
from kcli.flows.inputs.item import BadLine, Item, Parser
from kcli.flows.inputs.kcat import kcat_parser
from kcli.flows.inputs.lines import LineFormat, LineParser, line_reader
from kcli.flows.inputs.ndjson import ndjson_parser
from kcli.flows.inputs.pattern import PatternError, pattern_parser
from kcli.flows.inputs.raw import RawParser
from kcli.flows.inputs.whole_file import WholeFileParser

_INPUT_PER_RECORD = 8  # a record as JSON may be longer by this factor


def parser_of(form: InputFormat) -> Parser:
    """The parser of a format, for one input."""
    return _encoding(form, _parser_of(form))


def _encoding(form: InputFormat, parser: Parser) -> Parser:
    """Adds encoding to formats without encodings of their own, which give texts. The key of ``-k`` is already
    encoded.
    """
    if not form.encoding or form.kind in ("ndjson", "kcat", "csv", "failed"):
        return parser
    return EncodingParser(parser, form.encoding, keys=form.how.key is None)


def _parser_of(form: InputFormat) -> Parser:
    how, longest = form.how, form.longest
    wide = _INPUT_PER_RECORD * longest + (1 << 16)
    match form.kind:
        case "lines":
            return LineParser(line_reader(how), delimiter=how.delimiter, longest=longest)
        case "ndjson":
            return ndjson_parser(form.blocks, form.encoding, longest=wide)
        case "kcat":
            return kcat_parser(form.blocks, form.encoding, longest=wide)
        case "raw":
            return RawParser(key=how.key, headers=how.headers, longest=longest)
        case "csv":
            return CsvParser(form.blocks, how, longest=wide, encoding=form.encoding)
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
    one = replace(form, kind=kind)
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
