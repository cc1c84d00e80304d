"""What a scraper accepts, where to listen, and whether figures are still shown: all without a socket."""

import pytest

from kcli.core.errors import ConfigError
from kcli.exporter.address import Address, parse_address
from kcli.exporter.exposition import CLASSIC, OPENMETRICS
from kcli.exporter.health import Health
from kcli.exporter.last_sample import LastSample
from kcli.exporter.metrics import OF_HEALTH
from kcli.exporter.negotiation import accepts_gzip, chosen_format
from tests.unit.exporter.pages import labels, page_of, parsed
from tests.unit.flows.monitor.readings import reading

PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", CLASSIC),
        ("*/*", CLASSIC),
        ("text/plain;version=0.0.4", CLASSIC),
        (PROMETHEUS_2, OPENMETRICS),
        (PROMETHEUS_3, OPENMETRICS),
        ("application/openmetrics-text", OPENMETRICS),
        ('Application/OpenMetrics-Text; Version="1.0.0"', OPENMETRICS),
        ("application/openmetrics-text;version=2.0.0,text/plain;q=0.1", CLASSIC),
        ("application/openmetrics-text;q=0", CLASSIC),
        ("application/openmetrics-text;q=0.2,text/plain;q=0.3", CLASSIC),
        ("application/openmetrics-text;q=nan", CLASSIC),
        ("application/openmetrics-text;q=x,;;,==", CLASSIC),
        ("text/html,application/xhtml+xml,application/xml;q=0.9", CLASSIC),
    ],
)
def test_the_format_that_is_accepted_most(accept: str, form: str) -> None:
    assert chosen_format(accept) == form


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("*", False),
    ],
)
def test_gzip_only_where_it_is_named(given: str, wanted: bool) -> None:
    assert accepts_gzip(given) is wanted


@pytest.mark.parametrize(
    ("text", "address", "shown"),
    [
        ("127.0.0.1:9308", Address("127.0.0.1", 9308), "127.0.0.1:9308"),
        ("[::1]:0", Address("::1", 0), "[::1]:0"),
        ("[fe80::1%eth0]:1", Address("fe80::1%eth0", 1), "[fe80::1%eth0]:1"),
        (":9308", Address("", 9308), "*:9308"),
        ("host.example:65535", Address("host.example", 65535), "host.example:65535"),
    ],
)
def test_addresses_are_read(text: str, address: Address, shown: str) -> None:
    assert parse_address(text) == address
    assert str(address) == shown


@pytest.mark.parametrize(
    "text", ["", "9308", "host", "::1:9308", "host:65536", "http://host:1", "a b:1", "[x]:1", "h:-1"]
)
def test_what_is_no_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_address(text)
    assert "--listen 127.0.0.1:9308" in caught.value.do
    assert ("brackets" in caught.value.why) == (text == "::1:9308")


def test_figures_are_shown_until_three_intervals_have_passed() -> None:
    state = LastSample(15, page_of(reading(0, ends={})), read_at=100.0, seconds=1.0)
    assert state.trouble(144.9) == ""
    assert state.trouble(146.0) == "the last sample is 46 s old: more than 45 s"


def test_a_sample_that_takes_longer_than_the_interval_does_not_make_figures_old() -> None:
    state = LastSample(1, page_of(reading(0, ends={})), read_at=100.0, seconds=20.0)
    assert state.trouble(159.0) == ""


def test_before_the_first_sample_and_after_a_failure_there_are_no_figures() -> None:
    assert LastSample(15).trouble(0.0) == "the first sample is not complete"
    assert LastSample(15, error="broker 1 is away", read_at=99.0).trouble(100.0) == "broker 1 is away"


@pytest.mark.parametrize("form", [CLASSIC, OPENMETRICS])
def test_the_health_of_a_state_in_both_formats(form: str) -> None:
    page = page_of(reading(0, ends={}))
    state = LastSample(
        15, page, read_at=100.0, wall=1.7e9, seconds=0.5, problems=2, samples=7, failures=3, requests=99
    )
    part = Health().part(form, {"": state}, 104.0, 11).plain
    end = b"# EOF\n" if form == OPENMETRICS else b""
    found = parsed((part + end).decode(), form)
    values = {
        name: value for name, some in found.items() for value in some.values() if name.startswith("kcli")
    }
    assert values == {
        "kcli_exporter_up": 1,
        "kcli_sample_complete": 1,
        "kcli_exporter_last_success_timestamp_seconds": 1.7e9,
        "kcli_exporter_age_seconds": 4,
        "kcli_exporter_sample_seconds": 0.5,
        "kcli_exporter_series": page.text.samples,
        "kcli_exporter_dropped_series": 0,
        "kcli_exporter_problems": 2,
        "kcli_exporter_samples_total": 7,
        "kcli_exporter_failed_samples_total": 3,
        "kcli_exporter_requests_total": 99,
        "kcli_exporter_scrapes_total": 11,
        "kcli_exporter_info": 1,
    }
    names = {line.split()[2] for line in part.decode().splitlines() if line.startswith("# TYPE kcli")}
    suffix = {"counter": "_total", "info": "_info"} if form == CLASSIC else {}
    assert names == {one.name + suffix.get(one.kind, "") for one in OF_HEALTH}
    assert "process_cpu_seconds_total" in found


def test_an_old_state_is_down_and_has_its_age() -> None:
    state = LastSample(15, page_of(reading(0, ends={})), read_at=100.0, wall=1.7e9, seconds=0.5)
    found = parsed(Health().part(CLASSIC, {"": state}, 200.0, 0).plain.decode())
    assert found["kcli_exporter_up"] == {labels(): 0}
    assert found["kcli_exporter_age_seconds"] == {labels(): 100}
    assert found["kcli_exporter_series"] == {labels(): 0}
