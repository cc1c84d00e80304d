"""What may differ between a page and a run, and what may not."""

import pytest

from tests.stories.masks import alike


@pytest.mark.parametrize(
    ("page", "now"),
    [
        ("at 2026-11-27T17:49:15.123Z", "at 2027-01-01T00:00:00.000Z"),
        ("--undo=20261127-174915-e1dcfa --live", "--undo=20270101-000000-000000 --live"),
        ("billing   orders   0   1h32m   stopped", "billing   orders   0    1h33m   stopped"),
        ("billing: coordinator 127.0.0.1:25535 (node 1)", "billing: coordinator 127.0.0.1:9092 (node 1)"),
        ("3 records (44.5 kB fetched) in 0.0 s: 12,359 records/s", "3 records (45.1 kB fetched) in 1.2 s: 9 records/s"),
        ("TOPIC      PART", "TOPIC  PART"),
        ("kcli: --fail-if p50>50%: it changed by +518.9%", "kcli: --fail-if p50>50%: it changed by +607%"),
    ],
)  # fmt: skip
def test_what_differs_from_run_to_run_is_alike(page: str, now: str) -> None:
    assert alike([page], [now])


@pytest.mark.parametrize(
    ("page", "now"),
    [
        ("billing   0   145   300   155   1h32m   stopped", "billing   0   145   300   156   1h32m   stopped"),
        ("billing   orders   0   1h32m   stopped", "billing   orders   0   1h35m   stopped"),
        ("billing   orders   0   0s   ok", "billing   orders   0   1s   ok"),
        ("search   Empty   stopped", "search   Stable   stopped"),
        ("3 records of 900 match (44.5 kB fetched) in 0.0 s", "3 records of 900 match (54.5 kB fetched) in 0.0 s"),
        ("orders-2: offset 5000 is out of range", "orders-2: offset 5001 is out of range"),
        ("8", "7"),
    ],
)  # fmt: skip
def test_counts_offsets_names_and_states_are_compared(page: str, now: str) -> None:
    assert not alike([page], [now])


def test_where_a_text_is_wrapped_is_not_compared() -> None:
    page = [
        "On prod (with certificate",
        "    /home/ops/admin.pem):",
        "  why: no",
        "      credentials",
        "  set",
    ]
    now = ["On prod", "    (with certificate /home/ops/admin.pem):", "  why: no credentials", "  set"]
    assert alike(page, now)
    assert not alike(page, [*now[:2], "  why: no other credentials", "  set"])
    assert not alike(page, [*now, "  set"])


def test_a_missing_line_differs_and_one_about_waiting_does_not() -> None:
    assert not alike(["created topic load", ""], ["created topic load"])
    assert alike(["created topic load"], ["waiting for 127.0.0.1:9092 …", "created topic load"])


def test_how_many_brokers_had_started_when_it_was_asked_is_left_out() -> None:
    assert alike(["sandbox ha: up"], ["1 of 3 brokers answer", "2 of 3 brokers answer", "sandbox ha: up"])
