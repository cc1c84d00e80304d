"""The constants of a render program, which defines what ``render_records`` writes for each record. Numbers only.

A program is a tuple of operations, an operation a tuple that begins with one of the numbers here. It contains only
bytes, ints and tuples, so that the C twin can read the same program. The output of each operation is described in
``pure.render.render_records``.
"""

# --- operations ------------------------------------------------------------------------------------
LITERAL = 0
NUMBER = 1
TIME = 2
TIMESTAMP_TYPE = 3
BYTES = 4
LENGTH = 5
HEADERS = 6
EXTRA = 7

# --- which number: NUMBER --------------------------------------------------------------------------
OFFSET = 0
TIMESTAMP = 1
LEADER_EPOCH = 2
PRODUCER_ID = 3
PRODUCER_EPOCH = 4
HEADER_COUNT = 5
KEY_LENGTH = 6
VALUE_LENGTH = 7

# --- which bytes: BYTES and LENGTH -----------------------------------------------------------------
KEY = 0
VALUE = 1

# --- how bytes are written: BYTES ------------------------------------------------------------------
RAW = 0
HEX = 1
BASE64 = 2
JSON = 3
JSON_ESCAPED = 4
JSON_AS_IS = 5
CSV = 6
NOT_TEXT = 7

# --- how headers are written: HEADERS --------------------------------------------------------------
HEADERS_TEXT = 0
HEADERS_JSON = 1
HEADERS_FLAT = 2
HEADERS_CSV = 3
HEADERS_EACH = 4

Op = tuple[int | bytes | tuple[object, ...], ...]
Program = tuple[Op, ...]

Facts = tuple[int, int, int, int, int, int, int]
"""Of the batch: base offset, base timestamp, maximal timestamp, timestamp type (0 CreateTime, 1 LogAppendTime, −1
none), leader epoch, producer id, producer epoch."""
