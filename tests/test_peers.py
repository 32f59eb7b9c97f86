"""The benchmark against other methods: what it says of their weights, and that a failure is shown."""

import sys
from pathlib import Path

import numpy as np
import pytest
from cases import flat
from oracles import Array, objective_J
from tolerances import BOUND, OBJECTIVE, PAPER, ROUNDING, SOLVED

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from peer_methods import PEERS, Asked, Method, analytic, certified, conic, simple_mkl
from peers import Data, Sample, row, worth

C = 10.0


@pytest.fixture(scope="module")
def problem() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    kernels = np.array([np.exp(-gamma * (X[:, None, j] - X[:, j]) ** 2) for j in range(4) for gamma in (0.3, 3.0)])
    return kernels, np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=60) > 0, 1.0, -1.0)


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_our_own_weights_are_worth_what_the_certificate_says(problem: tuple[Array, Array], p: float) -> None:
    kernels, y = problem
    solution = certified(kernels, y, C, SOLVED, p)
    found = worth(kernels, y, C, np.array(list(solution.beta.values())), p)
    assert solution.dual_bound * (1 - ROUNDING) <= found.value <= solution.objective * (1 + ROUNDING)
    assert found.scale == pytest.approx(1, rel=1e-2)


@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_any_weights_are_taken_at_their_best_scale(problem: tuple[Array, Array], seed: int, p: float) -> None:
    kernels, y = problem
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=len(kernels)) * 10 ** rng.uniform(-3, 3) * (rng.uniform(size=len(kernels)) < 0.7)
    found = worth(kernels, y, C, weights, p)

    def objective(scale: float) -> float:
        structure = flat(len(kernels))
        beta = dict(zip([v["id"] for v in structure["nodes"] if v["kind"] == "product"], scale * weights, strict=True))
        leaves = [v["id"] for v in structure["nodes"] if v["kind"] == "kernel"]
        return objective_J(structure, dict(zip(leaves, kernels, strict=True)), y, C, 1.0, p, beta)

    assert found.value == pytest.approx(objective(found.scale), rel=BOUND)
    assert found.value < min(objective(0.9 * found.scale), objective(1.1 * found.scale))
    assert found.value >= certified(kernels, y, C, SOLVED, p).dual_bound


def test_no_weights_are_worth_a_constant_classifier(problem: tuple[Array, Array]) -> None:
    kernels, y = problem
    constant = 2 * C * min((y > 0).sum(), (y < 0).sum())
    assert worth(kernels, y, C, np.zeros(len(kernels))).value == constant
    assert worth(kernels, y, 1e-4 * C, np.ones(len(kernels))).value == pytest.approx(1e-4 * constant, rel=ROUNDING)


@pytest.mark.parametrize(("method", "tol"), [(conic, OBJECTIVE), (simple_mkl, PAPER), (analytic, PAPER)])
def test_methods_for_the_same_problem_find_its_optimum(
    problem: tuple[Array, Array], method: Method, tol: float
) -> None:
    kernels, y = problem
    exact = certified(kernels, y, C, 1e-8)
    weights = method(kernels, y, C, Asked(tol / 10 if method is analytic else tol, sum(exact.beta.values())))
    assert 1 - exact.dual_bound / worth(kernels, y, C, weights).value < tol


def test_a_failure_or_an_early_end_is_shown(problem: tuple[Array, Array]) -> None:
    kernels, y = problem
    data = Data(kernels, y, kernels, y)
    weights = np.ones(len(kernels))
    done = Sample(seconds=0.2, unit=0.1, peak=2.0**20, weights=weights)
    assert row("one", data, [done, "more than 3 s"], Asked(PAPER), 1.0, 1.0) == "| one | more than 3 s | | | | | | |"
    assert row("one", data, [done, done], Asked(PAPER), 1.0, 1.0).startswith("| one | 2.0 (2.0–2.0) | ")
    assert row("one", data, [done], Asked(PAPER, seconds=0.1), 1.0, 1.0).startswith("| one | stopped at 2 | ")


def test_every_peer_says_which_objective_it_is_for() -> None:
    assert all(("p = 2" in name) == (peer.p == 2) for name, peer in PEERS.items())
