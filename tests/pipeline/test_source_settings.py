"""The options of ``format("kcli")``."""

import json
from pathlib import Path

import pytest

from kcli.core.errors import ConfigError
from kcli.core.options import ConsumerOptions
from kcli.core.positions import OffsetSpec
from kcli.pipeline.plan import Slice
from kcli.pipeline.spark.source_settings import SETTINGS, SourceSettings, settings_of, settings_to_json
from kcli.profiles.secret_keys import source_key
from tests.cli.errors.typing_remedies import type_remedy

PASSWORD = "canary-4711"
BROKER = {"bootstrap.servers": "h:9092"}
SASL = {**BROKER, "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "ops"}


def test_options_say_what_is_read() -> None:
    found = settings_of(
        {
            **BROKER,
            "topic": "orders, payments",
            "partitions": "0,2-4",
            "offset": "10:20",
            "columns": "key,value_json",
            "value.serde": "json",
            "headers": "unpacked",
            "minpartitions": "7",
            "maxoffsetspertrigger": "100",
            "failondataloss": "false",
            "isolation.level": "read_uncommitted",
        }
    )
    assert found.topics == ("orders", "payments")
    assert found.partitions == (0, 2, 3, 4)
    assert (found.range.start, found.range.stop) == (OffsetSpec("offset", 10), OffsetSpec("offset", 20))
    assert (found.columns, found.packed) == (("key", "value_json"), False)
    assert (found.slots, found.max_offsets, found.fail_on_loss) == (7, 100, False)
    assert found.cluster.options(ConsumerOptions).isolation_level == "read_uncommitted"
    assert settings_of(BROKER | {"topic": "a", "value.serde": "json"}).columns[-1] == "value_json"


@pytest.mark.case("K10")
@pytest.mark.parametrize(
    "key", ["sasl.password", "ssl.key.password", "sasl.jaas.config", "schema.registry.basic.auth.user.info"]
)
def test_a_secret_in_plain_text_is_refused_with_what_to_do_instead(key: str) -> None:
    with pytest.raises(ConfigError, match="holds a secret in plain text") as caught:
        settings_of({**SASL, key: PASSWORD})
    assert PASSWORD not in f"{caught.value}{caught.value.do}"
    known = "sasl.password" if key == "sasl.jaas.config" else key
    assert f'"{known}_file"' in caught.value.do
    assert source_key(f"{known}_file")


@pytest.mark.case("K10")
def test_a_reference_to_a_secret_travels_and_the_secret_does_not(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o600)
    found = settings_of({**SASL, "topic": "orders", "sasl.password_file": str(secret)})
    carried = settings_to_json(found)
    assert PASSWORD not in carried
    again = settings_of({SETTINGS: carried})
    assert again.cluster.options(ConsumerOptions).sasl_password.reveal() == PASSWORD


def test_settings_survive_json() -> None:
    found = settings_of(
        {**SASL, "sasl.password_command": "pass kafka", "topic": "orders", "since": "1h", "partitions": "1"}
    )
    found = SourceSettings(
        **{
            name: getattr(found, name)
            for name in SourceSettings.__dataclass_fields__
            if name not in ("slices", "times")
        },
        slices=(Slice("orders", bytes(range(16)), 1, 2, 3),),
        times=(None, 5),
    )
    carried = settings_to_json(found)
    json.loads(carried)
    assert settings_of({SETTINGS: carried}) == found


@pytest.mark.parametrize(
    ("options", "what", "do"),
    [
        ({"topik": "a"}, "there is no option topik", "did you mean topic?"),
        (
            {"maxOffsetPerTrigger": "1"},
            "there is no option maxoffsetpertrigger",
            "did you mean maxOffsetsPerTrigger?",
        ),
        ({"isolation.levl": "x"}, "there is no option isolation.levl", "did you mean isolation.level?"),
        ({"columns": "key,valeu"}, "there is no column valeu", "did you mean value?"),
        ({"columns": "key,key"}, "key is given twice", ""),
        ({"columns": "value_json"}, "value_json needs a serde", '.option("value.serde", "json")'),
        ({"partitions": "a"}, "partitions: 'a' is no list", "0,2,5-7"),
        ({"pattern": "("}, "is no regular expression", ""),
        ({"topic": "a", "pattern": "b"}, "both given", ""),
        ({"offset": "1:2", "since": "1h"}, "offset was given together", ""),
        ({"since": "+1h"}, "since is in the future", ""),
        ({"offset": "@+1h"}, "offset is in the future", ""),
        ({"since": "1h", "until": "2h"}, "until is before since", "exchange"),
        ({"since": "17321800000"}, "since, until or offset is wrong", ""),
        (
            {"since": "soon"},
            "since, until or offset is wrong",
            "`kcli help times` and `kcli help offsets` list what",
        ),
        ({"minPartitions": "0"}, "minPartitions=0", ""),
        ({"failOnDataLoss": "maybe"}, "failOnDataLoss=maybe", ""),
        ({"headers": "flat"}, "headers=flat", ""),
        ({"value.serde": "afro"}, "afro", ""),
        ({"topic": "a/b"}, "a/b", ""),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, str], what: str, do: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings_of({**BROKER, **options})
    assert what in str(caught.value)
    assert do in caught.value.do
    if "`" in do:
        type_remedy("`kcli help times` and `kcli help offsets` list what", caught.value.do)
