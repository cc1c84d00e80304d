"""A list of rows in the chosen format."""

from collections.abc import Mapping, Sequence

from kcli.output.stdout import Output
from kcli.output.tables import Aligned, Column, Rows, Screen, Separated

DOCUMENTS = ("json", "ndjson", "yaml")
"""The formats whose items have names for their values."""

NO_FIELDS: Mapping[str, object] = {}


def list_rows(
    out: Output,
    kind: str,
    item: str,
    columns: Sequence[Column],
    *,
    cluster: str | None = None,
    warnings: Sequence[str] = (),
    missing: Sequence[Mapping[str, object]] = (),
    screen: Screen | None = None,
    head: Mapping[str, object] = NO_FIELDS,
    tail: Mapping[str, object] = NO_FIELDS,
) -> Rows:
    """A list to be filled: ``with list_rows(out, "TopicList", "Topic", COLUMNS) as lines: lines.add({…})``.

    ``warnings`` and ``missing`` are read at the end, so lists that grow meanwhile are complete. ``head``: further fields
    of the document; ``tail``: those after its items, read at the end. ``screen`` is for a table that is shown again and
    again in its place.
    """
    form = out.list_kind()
    if form in DOCUMENTS:
        from kcli.output.envelope import document  # json

        return document(
            out,
            form,
            kind,
            item,
            columns,
            cluster=cluster,
            warnings=warnings,
            missing=missing,
            fields=head,
            tail=tail,
        )
    if form in ("tsv", "csv", "name"):
        return Separated(out, columns, form)
    if form in ("table", "wide"):
        from kcli.output.style import TableRows  # rich

        return TableRows(out, columns, wide=form == "wide", screen=screen)
    return Aligned(out, columns)
