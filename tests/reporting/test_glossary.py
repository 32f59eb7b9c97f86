"""Signs and words: one sentence each, one page, and examples whose numbers are right."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from small_runs import trained, without_scores

from spnmkl.inspection import heaviest_paths
from spnmkl.reporting.glossary import GLOSSARY, explained, glossary_page, worked_g, worked_gap, worked_share
from spnmkl.reporting.worked import (
    likeness,
    objective_parts,
    worked_objective,
    worked_price,
    worked_product,
    worked_residual,
)

ROOT = Path(__file__).parents[2]
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁄", "0123456789/")


@pytest.mark.parametrize("term", GLOSSARY.values(), ids=lambda term: term.sign)
def test_every_sign_has_one_sentence(term) -> None:  # type: ignore[no-untyped-def]
    assert term.sentence.endswith(".") and not re.search(r"[.!?] [A-Z]", term.sentence)


def test_the_page_of_the_documentation_is_of_today() -> None:
    assert (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8") == glossary_page(), "run scripts/glossary.py"


def test_what_the_wish_names_is_explained() -> None:
    signs = ("g", "∘", "Σg", "β", "p", "λ", "c", "C", "C_min", "q", "F")
    named = (*signs, "gap", "KKT", "alignment", "path-dependent view", "held-out")
    assert all(GLOSSARY[name].sentence in explained(*named) for name in named)


def test_the_weight_of_a_path_is_worked_out_with_its_own_numbers() -> None:
    run = trained().run
    path = heaviest_paths(run.solution, 1)[0]
    said = worked_g(run.spn, path, run.solution.beta)
    *_, numbers, result = said.split(" = ")
    found = 1.0
    for factor in numbers.split(" · "):
        value, raised = re.fullmatch(r"([\d.e+-]+)([⁰¹²³⁴⁵⁶⁷⁸⁹⁄]*)", factor).groups()  # type: ignore[union-attr]
        found *= float(value) ** float(Fraction(raised.translate(RAISED) or "1"))
    assert found == pytest.approx(float(result), rel=0.02) and float(result) == pytest.approx(path.g, rel=0.01)
    assert said.startswith("g = β")
    assert worked_share(path).endswith(f"= {100 * path.share:.3g} %")


def test_the_gap_is_worked_out() -> None:
    run = trained().run
    assert worked_gap(run.solution).startswith("(P − D)/P = (")


@pytest.mark.parametrize("classes", [2, 3])
def test_the_objective_is_worked_out_from_its_parts(classes: int) -> None:
    found = trained(classes)
    run, solution = found.run, found.run.solution
    complexity, price, errors = objective_parts(run)
    quadratic = np.sum((found.A @ found.learned()) * found.A)
    assert complexity == pytest.approx(quadratic / 2, rel=1e-6)
    c = dict.fromkeys(solution.beta, 0.0)
    for path in found.paths:
        for v, exponent in path.exponents.items():
            c[v] += float(exponent)
    assert price == pytest.approx(sum(c[v] * b for v, b in solution.beta.items()), rel=1e-9)
    assert complexity + price + errors == pytest.approx(solution.objective, rel=1e-5)
    assert worked_objective(run).endswith(f"= {solution.objective:.4g}")
    assert worked_objective(without_scores(run)) == ""


def test_the_price_and_the_residual_of_a_weight_are_worked_out() -> None:
    solution = trained().run.solution
    product = max(solution.beta, key=lambda v: solution.beta[v])
    *_, numbers, result = worked_price(solution, product).split(" = ")
    lam, c, beta = numbers.split(" · ")
    assert float(lam) * float(c) * float(beta.removesuffix("¹")) == pytest.approx(float(result), rel=0.02)
    *_, result = worked_residual(solution, product).split(" = ")
    assert float(result) == pytest.approx(0.01 * solution.kkt_residual[product] * solution.objective, rel=0.1)


def test_two_rows_on_a_path_are_worked_out() -> None:
    assert worked_product("K₁ ∘ K₂", [0.8, 0.5], (3, 1004)) == "rows 3 and 1,004: K₁ ∘ K₂ = 0.8 · 0.5 = 0.4"


def test_likeness_is_the_mean_over_pairs() -> None:
    K, codes = np.arange(25.0).reshape(5, 5), np.array([0, 1, 0, 1, 1])
    pairs = [(i, j) for i in range(5) for j in range(5) if i != j]
    within = np.mean([K[i, j] for i, j in pairs if codes[i] == codes[j]])
    between = np.mean([K[i, j] for i, j in pairs if codes[i] != codes[j]])
    assert likeness(K, codes) == pytest.approx((within, between))
    assert np.isnan(likeness(np.eye(2), np.array([0, 1]))[0]) and np.isnan(likeness(np.eye(2), np.zeros(2, int))[1])
