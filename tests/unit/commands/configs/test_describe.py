"""The columns of ``kcli configs describe``."""

from kcli.commands.configs.describe import WITH_ORIGIN, _place
from kcli.output.layout import layout


def test_on_a_narrow_terminal_the_origin_takes_the_place_of_the_source() -> None:
    cells = {"name": 1, "key": 22, "value": 120, "source": 15, "read_only": 5, "origin": 200}
    columns = [column for column in WITH_ORIGIN if not column.wide]
    found = layout(columns, [cells[column.key] for column in columns], 80)
    widths = {column.key: width for column, width in found.widths.items()}
    assert widths.keys() == {"name", "key", "value", "origin"}
    assert min(widths["value"], widths["origin"]) >= 20


def test_an_origin_repeats_the_key_only_where_it_is_another_one() -> None:
    assert _place("cleanup.policy", "cleanup.policy", "compact", "topic") == "topic: compact"
    said = _place("cleanup.policy", "log.cleanup.policy", "delete", "default")
    assert said == "default: log.cleanup.policy=delete"
