"""How many functions a batch calls: a figure that no machine and no hour changes (benchmarks/calls.toml)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks._call_limits import Limit, limits
from benchmarks._counted_flows import IN_STEP, Flow, Stage, calls, transfers
from benchmarks.calls import listing

_TRIES = 3
"""A thread that is interrupted at an unlucky moment makes a few calls more; never in each of several runs."""


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Stage(tmp_path) as made:
        yield made


def test_every_flow_has_a_limit() -> None:
    assert set(limits()) == {flow.name for flow in IN_STEP}


@pytest.mark.parametrize("flow", IN_STEP, ids=lambda flow: flow.name)
def test_a_batch_makes_as_many_calls_as_its_limit_says(flow: Flow, stage: Stage) -> None:
    complaint, counts = "", {}
    for _ in range(_TRIES):
        counts = stage.count(flow)
        complaint = limits()[flow.name].complaint(calls(counts), transfers(counts))
        if not complaint:
            return
    pytest.fail(
        f"{flow.name}, each {flow.unit}: {complaint}\n{listing(counts)}\n"
        f"all of them: KCLI_BENCH_ONLY='{flow.name}' python -m benchmarks calls"
    )


@pytest.mark.parametrize(
    ("made", "complaint"),
    [
        ((101, 2), "101.0 calls, the limit is 100"),
        ((100, 2), ""),
        ((80, 2), ""),
        ((79, 2), "79.0 calls are far below the limit of 100: lower it in benchmarks/calls.toml"),
        ((100, 2.5), "2.5 transfers, the limit is 2"),
        ((100, 0.5), ""),
    ],
)
def test_a_limit_holds_in_both_directions(made: tuple[float, float], complaint: str) -> None:
    assert Limit(100, 2, exact=True).complaint(*made) == complaint


def test_other_versions_of_python_have_no_lower_bound() -> None:
    assert Limit(100, 2, exact=False).complaint(50, 2) == ""
