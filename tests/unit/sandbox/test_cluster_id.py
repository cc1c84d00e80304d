"""The cluster id that a new sandbox draws."""

import uuid

import pytest

from kcli.sandbox.data_folder import random_cluster_id


def test_an_id_that_looks_like_an_option_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = iter([uuid.UUID(bytes=b"\xf8" + bytes(15)), uuid.UUID(bytes=b"\x04" + bytes(15))])
    monkeypatch.setattr("kcli.sandbox.data_folder.uuid.uuid4", lambda: next(draws))
    assert random_cluster_id() == "B" + "A" * 21
