"""When a lone escape is a key: soon on a terminal of this machine, later where a network may split sequences."""

import pytest
from textual import constants

from kcli.tui.driver import escape_delay


@pytest.mark.parametrize("name", ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "ESCDELAY"])
def test_a_lone_escape_waits_longer_over_a_network_or_where_that_is_asked_for(name: str) -> None:
    assert escape_delay({}) == escape_delay({"SSH_TTY": ""}) == 0.025
    assert escape_delay({name: "1"}) == constants.ESCAPE_DELAY
