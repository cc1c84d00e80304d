"""Option classes behave as the dataclasses that they are for the type checker."""

import copy
import dataclasses

import pytest

from kcli.core.options import ALL_OPTIONS, ClientOptions, ConsumerOptions
from kcli.core.secret import Secret

every_kind = pytest.mark.parametrize("kind", ALL_OPTIONS)


@every_kind
def test_methods_are_those_that_dataclass_would_generate(kind: type[ClientOptions]) -> None:
    fields = [(field.name, field.type, field) for field in dataclasses.fields(kind)]
    twin = dataclasses.make_dataclass(kind.__name__, fields, frozen=True, slots=True, kw_only=True)
    chosen = {"client_id": "mine", "sasl_password": Secret("secret")}
    own, generated = kind(**chosen), twin(**chosen)
    names = [name for name, _, _ in fields]
    assert [getattr(own, name) for name in names] == [getattr(generated, name) for name in names]
    assert repr(own) == repr(generated)
    assert hash(own) == hash(generated)
    assert own == kind(**chosen) != kind()


@every_kind
def test_unknown_names_are_refused_as_by_a_dataclass(kind: type[ClientOptions]) -> None:
    with pytest.raises(TypeError, match=r"__init__\(\) got an unexpected keyword argument 'client'"):
        kind(client="mine")
    with pytest.raises(TypeError):
        kind("localhost")  # type: ignore[call-arg]


@every_kind
def test_options_are_frozen_and_have_no_further_attributes(kind: type[ClientOptions]) -> None:
    options = kind()
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.client_id = "other"
    with pytest.raises(dataclasses.FrozenInstanceError):
        del options.client_id
    assert not hasattr(options, "__dict__")


@every_kind
def test_options_can_be_replaced_and_copied(kind: type[ClientOptions]) -> None:
    options = dataclasses.replace(kind(client_id="mine"), cluster_id="one")
    assert (options.client_id, options.cluster_id) == ("mine", "one")
    assert copy.copy(options) == options


def test_options_of_another_class_differ() -> None:
    assert ClientOptions() != ConsumerOptions()
