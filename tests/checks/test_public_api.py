"""What users may import is documented: every name, every public method and property."""

import inspect

import pytest

import kcli.core


@pytest.mark.case("S0-6")
@pytest.mark.parametrize("name", kcli.core.__all__)
def test_every_public_name_says_what_it_is(name: str) -> None:
    thing = getattr(kcli.core, name)
    assert inspect.getdoc(thing), name
    if not inspect.isclass(thing) or thing.__module__.startswith("enum"):
        return
    members = inspect.getmembers(thing, lambda one: inspect.isfunction(one) or isinstance(one, property))
    silent = [
        f"{name}.{member}"
        for member, value in members
        if not member.startswith("_") and not inspect.getdoc(value)
    ]
    assert silent == []
