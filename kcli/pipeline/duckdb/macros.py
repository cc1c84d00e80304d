"""What DuckDB does in another way than Spark, as macros: they return what Spark returns, and fail where it fails.

A cast of a text has a twin ``…_or_null`` for ``try_cast``. A text in a form that only one of both engines reads is no
value here, never another one.
"""

from collections.abc import Iterator

_DAY = r"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}"
_CLOCK = r"[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]{{1,6}})?(Z|[+-][0-9]{{2}}:[0-9]{{2}})?"
_NUMBER = r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*"
_CASTS = (
    (
        "kcli_long",
        r"WHEN regexp_full_match(v, '\s*[+-]?[0-9]+\s*') THEN {cast}(trim(v) AS BIGINT)",
        "whole number",
    ),
    (
        "kcli_double",
        rf"WHEN regexp_full_match(v, '{_NUMBER}') THEN {{cast}}(trim(v) AS DOUBLE) "
        "WHEN regexp_full_match(v, '(?i)[+-]?(inf|infinity)|nan') THEN {cast}(v AS DOUBLE)",
        "number",
    ),
    (
        "kcli_boolean",
        "WHEN lower(trim(v)) IN ('t', 'true', 'y', 'yes', '1') THEN true "
        "WHEN lower(trim(v)) IN ('f', 'false', 'n', 'no', '0') THEN false",
        "BOOLEAN",
    ),
    (
        "kcli_time",
        rf"WHEN regexp_full_match(v, '\s*{_DAY}([T ]{_CLOCK})?\s*') THEN {{cast}}(trim(v) AS TIMESTAMPTZ)",
        "time like 2026-01-31T10:00:00Z",
    ),
    (
        "kcli_date",
        rf"WHEN regexp_full_match(v, '\s*{_DAY}\s*') THEN {{cast}}(trim(v) AS DATE)",
        "date like 2026-01-31",
    ),
)


def _macros() -> Iterator[str]:
    for name, cases, what in _CASTS:
        failed = f"WHEN v IS NULL THEN NULL ELSE error('the text ''' || v || ''' is no {what}')"
        yield f"{name}(v) AS CASE {cases.format(cast='CAST')} {failed} END"
        yield f"{name}_or_null(v) AS CASE {cases.format(cast='TRY_CAST')} END"
    for name, result in (
        ("kcli_divide", "CAST(a AS DOUBLE) / b"),
        ("kcli_remainder", "a % b"),
        ("kcli_whole", "a // b"),
    ):
        yield f"{name}(a, b) AS CASE WHEN b = 0 AND a IS NOT NULL THEN error('division by zero') ELSE {result} END"
    yield (
        "kcli_ascii(v, w) AS CASE WHEN strlen(v) = length(v) THEN w WHEN v IS NOT NULL THEN "
        "error('upper and lower of ''' || v || ''' are others in Spark: --engine spark') END"
    )


MACROS = tuple(_macros())
"""Each one behind CREATE MACRO."""
