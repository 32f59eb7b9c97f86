"""Signs worked out with the numbers of a run: its objective, the price of a weight, two samples on a path."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from spnmkl.circuit.program import Floats, compile_circuit
from spnmkl.reporting.glossary import LONGEST
from spnmkl.solution import Solution
from spnmkl.structure.text import RAISED, shortened
from spnmkl.training.run import Run


def objective_parts(run: Run) -> tuple[float, float, float]:
    """Complexity ½‖f‖², the price of the weights and the errors on training rows: their sum is the objective (eq. 8).

    From the decision values of the training rows, which must have been scored: Σ αᵢ yᵢ is 0, so that the intercept in
    them adds nothing to ‖f‖² = Σ αᵢ yᵢ f(xᵢ).
    """
    solution = run.solution
    decision, signed = np.atleast_2d(run.train_scores.decision.T), np.atleast_2d(solution.signed_alpha)
    y = np.where(solution.y == _positive(solution)[:, None], 1.0, -1.0)
    errors = float((solution.C * np.maximum(0.0, 1.0 - y * decision)).sum())
    return float((signed * decision).sum()) / 2, sum(prices(solution).values()), errors


def _positive(solution: Solution) -> np.ndarray:
    """The class of every decision function."""
    return solution.classes[1:] if len(solution.classes) == 2 else solution.classes


def prices(solution: Solution) -> dict[str, float]:
    """λ c βᵖ of every weight."""
    c = exponents(solution)
    return {v: solution.lam * c[v] * b ** solution.p[v] for v, b in solution.beta.items()}


def exponents(solution: Solution) -> dict[str, float]:
    """c of every weight, eq. 2."""
    circuit = compile_circuit(solution.spn)
    return dict(zip(circuit.products, circuit.total_exponents().tolist(), strict=True))


def worked_objective(run: Run) -> str:
    """P = ½‖f‖² + λ Σ c βᵖ + C Σ ℓ = 9.53 + 9.53 + 0.001 = 19.06."""
    if not run.train_scores.scored or run.approximated is not None:  # whose scores are those of another classifier
        return ""
    parts = " + ".join(f"{part:.4g}" for part in objective_parts(run))
    return f"P = ½‖f‖² + λ Σ c βᵖ + C Σ ℓ = {parts} = {run.solution.objective:.4g}"


def worked_price(solution: Solution, product: str) -> str:
    """What one weight costs: λ c βᵖ = 1 · 4 · 1.32¹ = 5.28."""
    name, p = solution.spn.names[product], f"{solution.p[product]:g}".translate(RAISED)
    numbers = f"{solution.lam:g} · {exponents(solution)[product]:.3g} · {solution.beta[product]:.3g}{p}"
    return f"price of {name}: λ c βᵖ = {numbers} = {prices(solution)[product]:.3g}"


def worked_residual(solution: Solution, product: str) -> str:
    """What is left to gain by one weight alone."""
    residual, P = solution.kkt_residual[product], solution.objective
    numbers = f"1 % · {residual:.1e} · {P:.4g} = {P * residual / 100:.1g}"
    return f"1 % more or less of {solution.spn.names[product]} changes P by about {numbers}"


def worked_product(kernels: str, values: Sequence[float], rows: tuple[int, int]) -> str:
    """Two rows of the table by the kernels of a path, and by their product: K₁ ∘ K₂ = 0.8 · 0.5 = 0.4."""
    numbers = shortened(" · ".join(f"{value:.3g}" for value in values), LONGEST)
    return f"rows {rows[0]:,} and {rows[1]:,}: {shortened(kernels, LONGEST)} = {numbers} = {math.prod(values):.3g}"


def likeness(K: Floats, codes: np.ndarray) -> tuple[float, float]:
    """The mean of a kernel over pairs of rows of one class, without a row and itself, and of different classes."""
    sizes = np.bincount(codes)
    same = sum(float(K[np.ix_(codes == k, codes == k)].sum()) for k in range(len(sizes)))
    pairs, n = float((sizes**2).sum()), len(codes)
    within = (same - float(np.trace(K))) / (pairs - n) if pairs > n else float("nan")
    return within, (float(K.sum()) - same) / (n * n - pairs) if pairs < n * n else float("nan")
