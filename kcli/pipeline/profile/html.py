"""The profile as one HTML page, with plots, that needs nothing else: no script, no network."""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from kcli.output.html_page import html_page, html_table
from kcli.output.progress import size_text
from kcli.output.tables import time_text

_WIDTH, _HEIGHT, _LEFT, _TOP, _FOOT = 900, 160, 70, 10, 36
_CLASSES = {False: "bar", True: "high"}


def page(
    cluster: str, at: str, topics: Sequence[Mapping[str, Any]], partitions: Sequence[Mapping[str, Any]]
) -> str:
    """``topics`` as in ``topic_item``; ``partitions`` are the items of the report."""
    title = f"Profile of {', '.join(topic['topic'] for topic in topics)}"
    body = "".join(
        _topic(topic, [item for item in partitions if item["topic"] == topic["topic"]]) for topic in topics
    )
    return html_page(title, f"Cluster {cluster}, {at}, by kcli", body)


def _topic(topic: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> str:
    return f"<h2>{escape(topic['topic'])}</h2>\n" + "".join(_sections(topic, items))


def _sections(topic: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield html_table(("", ""), _facts(topic))
    if not topic["records"]:
        return
    average = topic["records"] / max(1, topic["partitions"])
    yield "<h3>Records by partition</h3>" + _bars(
        [
            (str(item["partition"]), item.get("records", 0), item.get("records", 0) > 1.5 * average)
            for item in items
        ],
        "partition",
    )
    if topic["times"]:
        yield "<h3>Records by time</h3>" + _bars(
            [(time_text(one["from"]), one["records"], False) for one in topic["times"]], "time"
        )
    for name, title in (("value_sizes", "Sizes of values"), ("key_sizes", "Sizes of keys")):
        rows = topic[name]["histogram"]
        if rows:
            yield f"<h3>{title}</h3>" + _bars(
                [(f"{one['from']:,} to {one['to']:,} bytes", one["records"], False) for one in rows], "bytes"
            )
    if topic["top_keys"]:
        note = (
            ""
            if topic["distinct_keys_exact"]
            else f'<p class="note">Counts may be too low by {topic["top_keys_error"]:,}.</p>'
        )
        rows = [
            (_code(one["key"]), f"{one['records']:,}", f"{one['share']:.2%}") for one in topic["top_keys"]
        ]
        yield "<h3>Most frequent keys</h3>" + note + html_table(("key", "#records", "#share"), rows)
    if topic["json_schema"] is not None:
        yield (
            "<h3>JSON Schema of the values</h3><pre>"
            + escape(json.dumps(topic["json_schema"], indent=2))
            + "</pre>"
        )


def _facts(topic: Mapping[str, Any]) -> list[tuple[str, str]]:
    def rate(name: str) -> str:
        value = topic[f"{name}_rate"]
        return f"{topic[name + 's']:,}" + (f" ({value:.2%})" if value is not None else "")

    values = topic["values"]
    about = "" if topic["distinct_keys_exact"] else "about "
    words = (("json", "JSON"), ("text", "other text"), ("binary", "binary"), ("undecoded", "undecoded"))
    kinds = ", ".join(f"{values[kind]:,} {word}" for kind, word in words if values.get(kind))
    rows = [
        ("Partitions", f"{topic['partitions']:,}"),
        ("Records", f"{topic['records']:,}"),
        ("Keys and values", size_text(topic["bytes"])),
        ("Largest partition to average", "–" if topic["skew"] is None else f"{topic['skew']:.2f}"),
        ("Distinct keys", f"{about}{topic['distinct_keys']:,}"),
        ("Records without a key", rate("null_key")),
        ("Records without a value", rate("null_value")),
        ("Records with headers", f"{topic['with_headers']:,}"),
        (f"Of {values['sampled']:,} values that were looked into", kinds or "–"),
    ]
    if values["schema_ids"]:
        ids = ", ".join(f"{number} ({count:,})" for number, count in values["schema_ids"].items())
        rows.append(("Ids of schemas in the registry", ids))
    return [(escape(name), escape(text)) for name, text in rows]


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _bars(rows: Sequence[tuple[str, int, bool]], along: str) -> str:
    """An upright bar for each (label, number, whether it stands out), over an axis of what the labels are (``along``)
    with the first and last of them, beside one of records from 0 to the most.
    """
    most = max((number for _, number, _ in rows), default=0) or 1
    step = (_WIDTH - _LEFT) / len(rows)
    bars = "".join(
        f'<rect class="{_CLASSES[high]}" x="{_LEFT + n * step + step * 0.08:.2f}" width="{step * 0.84:.2f}" '
        f'y="{_TOP + _HEIGHT * (1 - number / most):.2f}" height="{_HEIGHT * number / most:.2f}">'
        f"<title>{escape(label)}: {number:,}</title></rect>"
        for n, (label, number, high) in enumerate(rows)
    )
    return f'<svg viewBox="0 0 {_WIDTH} {_TOP + _HEIGHT + _FOOT}" role="img">{_axes(rows, most, along)}{bars}</svg>\n'


def _axes(rows: Sequence[tuple[str, int, bool]], most: int, along: str) -> str:
    foot, middle = _TOP + _HEIGHT, (_LEFT + _WIDTH) / 2
    lines = "".join(
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{y}" y2="{y}"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{number}</text>'
        for y, number in ((_TOP, f"{most:,}"), (foot, "0"))
    )
    titles = (
        f'<text x="{_LEFT - 6}" y="{_TOP + _HEIGHT / 2 + 4}" text-anchor="end">records</text>'
        f'<text x="{middle}" y="{foot + 30}" text-anchor="middle">{escape(along)}</text>'
    )
    ends = f'<text x="{_LEFT}" y="{foot + 14}">{escape(rows[0][0])}</text>'
    if len(rows) > 1:
        ends += f'<text x="{_WIDTH}" y="{foot + 14}" text-anchor="end">{escape(rows[-1][0])}</text>'
    return lines + titles + ends
