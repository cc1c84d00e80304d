"""What DuckDB does in another way than Spark, as macros: they return what Spark returns, and fail where it fails.

Texts in forms that only one of both reads are an error here, never another value.
"""

_TEXT = "'the text ''' || v || ''' is no "
_TIME = (
    r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})?)?\s*"
)

MACROS = (
    rf"""kcli_long(v) AS CASE WHEN regexp_full_match(v, '\s*[+-]?[0-9]+\s*') THEN CAST(trim(v) AS BIGINT)
        WHEN v IS NULL THEN NULL ELSE error({_TEXT}whole number') END""",
    rf"""kcli_double(v) AS CASE
        WHEN regexp_full_match(v, '\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*') THEN CAST(trim(v) AS DOUBLE)
        WHEN v IS NULL THEN NULL
        WHEN regexp_full_match(v, '(?i)[+-]?(inf|infinity)|nan') THEN CAST(v AS DOUBLE)
        ELSE error({_TEXT}number') END""",
    rf"""kcli_boolean(v) AS CASE WHEN lower(trim(v)) IN ('t', 'true', 'y', 'yes', '1') THEN true
        WHEN lower(trim(v)) IN ('f', 'false', 'n', 'no', '0') THEN false
        WHEN v IS NULL THEN NULL ELSE error({_TEXT}BOOLEAN') END""",
    rf"""kcli_time(v) AS CASE WHEN regexp_full_match(v, '{_TIME}') THEN CAST(trim(v) AS TIMESTAMPTZ)
        WHEN v IS NULL THEN NULL ELSE error({_TEXT}time like 2026-01-31T10:00:00Z') END""",
    rf"""kcli_date(v) AS CASE WHEN regexp_full_match(v, '\s*[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}\s*')
        THEN CAST(trim(v) AS DATE) WHEN v IS NULL THEN NULL ELSE error({_TEXT}date like 2026-01-31') END""",
    """kcli_divide(a, b) AS CASE WHEN b = 0 AND a IS NOT NULL THEN error('division by zero')
        ELSE CAST(a AS DOUBLE) / b END""",
    """kcli_remainder(a, b) AS CASE WHEN b = 0 AND a IS NOT NULL THEN error('division by zero') ELSE a % b END""",
    """kcli_ascii(v, w) AS CASE WHEN strlen(v) = length(v) THEN w WHEN v IS NULL THEN NULL
        ELSE error('upper and lower of ''' || v || ''' are not the same in DuckDB and Spark') END""",
)
