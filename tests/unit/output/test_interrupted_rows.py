"""A signal that ends a watch comes while an item is made: the document is whole, without that item."""

import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from kcli.output.envelope import document
from kcli.output.tables import Column


class Interrupting(Mapping[str, Any]):
    """A row whose values are asked for when Ctrl-C is pressed."""

    def __getitem__(self, key: str) -> Any:
        raise KeyboardInterrupt

    def __iter__(self) -> Iterator[str]:
        return iter(("a",))

    def __len__(self) -> int:
        return 1


class Out:
    """What documents write to."""

    def __init__(self) -> None:
        self.stream, self.isatty = io.StringIO(), False

    def text(self, text: str) -> None:
        self.stream.write(text)

    def flush(self) -> None:
        pass


@pytest.mark.parametrize("whole", range(3))
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_document_has_the_items_before_the_signal(form: str, whole: int) -> None:
    out: Any = Out()
    rows = document(
        out, form, "List", "Item", [Column("a")], cluster=None, warnings=(), missing=(), fields={}, tail={}
    )
    rows.endless = True
    added = [*({"a": number} for number in range(whole)), Interrupting()]
    with pytest.raises(KeyboardInterrupt), rows:
        rows.add_block(added)  # type: ignore[arg-type]  # any rows
    text = out.stream.getvalue()
    found = json.loads(text) if form == "json" else yaml.safe_load(text)
    assert [item["a"] for item in found["items"] or ()] == list(range(whole))
    assert (found["complete"], found["missing"]) == (True, [])


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_watch_that_is_ended_before_it_has_rows_has_an_empty_list(form: str) -> None:
    out: Any = Out()
    rows = document(
        out, form, "List", "Item", [Column("a")], cluster=None, warnings=(), missing=(), fields={}, tail={}
    )
    rows.endless = True
    with pytest.raises(SystemExit), rows:
        raise SystemExit(143)
    text = out.stream.getvalue()
    assert (json.loads(text) if form == "json" else yaml.safe_load(text))["items"] == []
