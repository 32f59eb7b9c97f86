"""Any number of threads gives the same bits."""

from functools import cache

import numpy as np
import pytest

from spnmkl import Kernel, solve, templates
from spnmkl.circuit import evaluate
from spnmkl.circuit.blocks import over_lanes
from spnmkl.circuit.source import KernelSource, MatrixSource
from spnmkl.kernels import fit_kernels, fit_tiles

N = 500
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
LABELS = {
    2: np.sign(X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=N)),
    4: 2 * (X[:, 0] > 0) + (X[:, 1] + 0.3 * RNG.normal(size=N) > 0),
}
GROUPS = {str(f): [Kernel("rbf", gamma=float(g), features=[f]) for g in np.logspace(-1.5, 1.5, 6)] for f in range(4)}
STRUCTURES = {
    "one layer": templates.flat([kernel for group in GROUPS.values() for kernel in group]),
    "product of sums": templates.product_of_sums(GROUPS),
}


@cache
def source_of(name: str, kind: str) -> KernelSource:
    spn = STRUCTURES[name]
    return fit_tiles(spn, X)[0] if kind == "tiles" else MatrixSource(fit_kernels(spn, X)[0])


@pytest.mark.parametrize("classes", LABELS)
@pytest.mark.parametrize("kind", ["matrices", "tiles"])
@pytest.mark.parametrize("name", STRUCTURES)
def test_the_number_of_threads_changes_no_bit(
    name: str, kind: str, classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spn, source, lanes = STRUCTURES[name], source_of(name, kind), set[int]()
    monkeypatch.setattr(
        evaluate, "over_lanes", lambda work, dealt, n: lanes.add(len(dealt)) or over_lanes(work, dealt, n)
    )
    one, two = (solve(spn, source, LABELS[classes], C=1.0, n_threads=n_threads) for n_threads in (1, 2))
    assert one.status == "optimal"
    assert one.beta == two.beta and one.objective == two.objective and one.dual_bound == two.dual_bound
    np.testing.assert_array_equal(one.alpha, two.alpha)
    decided = [one.decision_function(source, n_threads) for n_threads in (1, 2)]
    np.testing.assert_array_equal(*decided)
    assert max(lanes) > 1  # or there was nothing to share
