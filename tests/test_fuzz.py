"""A few inputs of every kind that `make fuzz` makes many of: only errors of the package come out."""

import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
from fuzz_targets import TARGETS, Target, outcome

INPUTS = 40


@pytest.mark.parametrize("name", TARGETS)
def test_only_errors_of_the_package_come_out(name: str) -> None:
    target = TARGETS[name]
    assert name == "zip" or [outcome(target, seed) for seed in target.seeds()] == ["taken"] * len(target.seeds())
    said = [outcome(target, target.made(Random(f"{name}/{k}"))) for k in range(INPUTS)]
    assert not [words for words in said if words.startswith("finding")]


@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if target.grammar is not None])
def test_grammars(name: str) -> None:
    target = TARGETS[name]
    assert target.grammar is not None

    @settings(max_examples=INPUTS, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(target.grammar)
    def run(data: bytes) -> None:
        assert not outcome(target, data).startswith("finding")

    run()


def _boom(data: bytes) -> None:
    raise KeyError("x")


def test_what_is_no_error_of_the_package_is_told() -> None:
    target = Target(_boom, lambda: [b""], lambda random, data, others: data)
    assert outcome(target, b"") == "finding: KeyError: \"'x'\""
