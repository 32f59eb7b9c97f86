"""What is compiled is compiled by `prepare`, and who waits for it is told, once."""

import os
import subprocess
import sys
from pathlib import Path

from spnmkl import compilation

SMALL = """
import numpy as np
from spnmkl import compilation
compilation._UNNOTICED = {patience}
from spnmkl.circuit.entries import address
for array in (np.zeros(2), np.zeros((2, 2))):
    address(array)
"""
NEW = """
import sys
import numpy as np
from spnmkl import Kernel, SPNMKLClassifier, cross_validate_C, solve, templates
from spnmkl.kernels import fit_kernels, fit_tiles
from spnmkl.precompile import prepare

def signatures():
    return {
        (name, str(signature))
        for module, found in list(sys.modules.items()) if module.startswith("spnmkl.")
        for name, function in vars(found).items() if hasattr(function, "nopython_signatures")
        for signature in function.signatures
    }

before = signatures()
prepare()
known = signatures()
rng = np.random.default_rng(1)
X = rng.normal(size=(160, 4))
y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=160) > 0, "yes", "no")
four = 2 * (X[:, 0] > 0) + (X[:, 1] > 0)
kernels = [Kernel("rbf", features=[i]) for i in range(4)] + [Kernel("linear", normalize="centred")]
for spn in (
    templates.flat(kernels),
    templates.grouped({"a": kernels[:2], "b": kernels[2:]}),
    templates.product_of_sums({"a": kernels[:2], "b": kernels[2:]}),
):
    matrices, _ = fit_kernels(spn, X)
    for C in (0.1, 1.0, 100.0):
        for solver in ("auto", "newton", "interior"):
            solve(spn, matrices, four, C=C, p=1.5, tol=1e-5, solver=solver, warn=False)
            solve(spn, matrices, y, C=C, solver=solver, sample_weight=np.arange(160) % 2, warn=False)
    solve(spn, {k: np.asfortranarray(K, dtype=np.float32) for k, K in matrices.items()}, y, C=1.0, warn=False)
    solve(spn, fit_tiles(spn, X)[0], y, C=1.0, warn=False).decision_function(matrices)
    cross_validate_C(spn, matrices, y, folds=2, C=[1.0, 10.0])
SPNMKLClassifier(spn, probability=True).fit(X, four).predict_proba(X[:7])
print(len(before), len(known) > 20, sorted(signatures() - known))
"""


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    root = Path(compilation.__file__).parents[1]
    variables = {**os.environ, "PYTHONPATH": str(root), "PYTHONWARNINGS": "ignore", **environment}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=variables, check=True)


def test_nothing_is_compiled_after_the_preparation() -> None:
    assert run(NEW).stdout.split(maxsplit=2) == ["0", "True", "[]\n"]


def test_compiling_is_announced_once_and_loading_never(tmp_path: Path) -> None:
    program = SMALL.format(patience=0.0)
    assert run(program, NUMBA_CACHE_DIR=str(tmp_path)).stderr == compilation._SENTENCE + "\n"
    assert run(program, NUMBA_CACHE_DIR=str(tmp_path)).stderr == ""


def test_other_loops_of_another_process_are_not_announced_again(tmp_path: Path) -> None:
    program, more = SMALL.format(patience=0.0), "address(np.zeros((2, 2, 2)))\n"
    assert run(program, NUMBA_CACHE_DIR=str(tmp_path)).stderr == compilation._SENTENCE + "\n"
    assert run(program + more, NUMBA_CACHE_DIR=str(tmp_path)).stderr == ""


def test_compiling_a_small_part_is_not_announced(tmp_path: Path) -> None:
    assert run(SMALL.format(patience=60.0), NUMBA_CACHE_DIR=str(tmp_path)).stderr == ""


def test_what_others_compile_is_not_ours(tmp_path: Path) -> None:
    program = "import spnmkl.circuit, numba; spnmkl.compilation._UNNOTICED = 0.0; numba.njit(lambda x: x + 1)(2)"
    assert run(program, NUMBA_CACHE_DIR=str(tmp_path)).stderr == ""
