"""The field in which a filter is typed."""

from textual.widgets import Input

from kcli.output.sanitise import visible_line


class FilterField(Input):
    """What is pasted into it may have been made by anybody: control characters are visible escapes here too."""

    def validate_value(self, value: str) -> str:
        """Textual calls it for every change."""
        return visible_line(value)
