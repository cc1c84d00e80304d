"""The columns of ``kcli configs describe``."""

from kcli.commands._configs_describe import _WITH_ORIGIN
from kcli.output.layout import layout


def test_on_a_narrow_terminal_the_origin_takes_the_place_of_the_source() -> None:
    cells = {"name": 1, "key": 22, "value": 120, "source": 15, "read_only": 5, "origin": 200}
    columns = [column for column in _WITH_ORIGIN if not column.wide]
    found = layout(columns, [cells[column.key] for column in columns], 80)
    widths = {column.key: width for column, width in found.items()}
    assert widths.keys() == {"name", "key", "value", "origin"}
    assert min(widths["value"], widths["origin"]) >= 20
