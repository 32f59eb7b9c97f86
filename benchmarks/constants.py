"""How much the solvers' constants matter: each is halved and doubled, and trainings are counted again.

    python benchmarks/constants.py [module …]

For every module of spnmkl/solvers the trainings are of the kind that it works in. Printed are the kernels K(β) that
were formed and the processor time, both as a ratio to those of the constant as it is, and how many trainings missed
their tolerance. Constants in compiled loops cannot be changed while they run and are left out. Times are noise
below 5 %.
"""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_wine, make_classification

import spnmkl
from spnmkl import C_min, Kernel, solve, templates
from spnmkl.kernels import fit_kernels

FOLDER = Path(spnmkl.__file__).parent / "solvers"
PATH = {"interior", "barrier", "path_start", "path_end", "centring", "shifted"}
KINDS = {"descent": "nonconvex", "nonconvex": "nonconvex", "sturdy": "nonconvex", "paper": "paper", "smallest": "C_min"}
KINDS |= dict.fromkeys(PATH, "path")
Counts = tuple[int, float, int]


def structures(features: int) -> list[Any]:
    named = {
        "widths": [Kernel("rbf", gamma=float(g)) for g in np.logspace(-3, 0, 4)],
        "powers": [Kernel("polynomial", degree=d, gamma=0.1) for d in (1, 2, 3)],
        "columns": [Kernel("rbf", gamma=0.5, features=[k]) for k in range(features)],
    }
    return [
        templates.flat([kernel for part in named.values() for kernel in part]),
        templates.grouped(named),
        templates.product_of_sums(named),
    ]


def data() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Smooth, of few levels, of three classes."""
    yield make_classification(150, 6, n_informative=4, flip_y=0.1, random_state=0)
    codes = np.random.default_rng(0).integers(0, 3, (120, 6)).astype(float)
    noise = np.random.default_rng(1).normal(0, 0.5, 120)
    yield codes, (codes[:, 0] * codes[:, 1] + codes[:, 2] + noise > 2).astype(int)
    X, y = load_wine(return_X_y=True)
    yield X[::2, :6], y[::2]


def trainings(kind: str) -> list[Callable[[], tuple[int, bool]]]:
    found: list[Callable[[], tuple[int, bool]]] = []
    for X, y in data():
        for spn in structures(X.shape[1]):
            kernels, _ = fit_kernels(spn, (X - X.mean(axis=0)) / X.std(axis=0))
            found += [partial(trained, spn, kernels, y, settings) for settings in SETTINGS[kind]]
    return found


SETTINGS: dict[str, list[dict[str, Any]]] = {
    "newton": [{"C": C, "p": p, "tol": tol} for C, p, tol in ((0.1, 1.0, 1e-6), (10.0, 1.0, 1e-3), (10.0, 1.5, 1e-6))],
    "path": [{"C": C, "p": 1.0, "tol": 1e-5, "solver": "interior"} for C in (0.1, 10.0)],
    "nonconvex": [{"C": 3.0, "p": "sparse", "max_iter": 300}],
    "paper": [{"C": 1.0, "p": 1.0, "tol": 0.05, "solver": "paper", "max_iter": 40}],
    "C_min": [{}],
}


def trained(spn: Any, kernels: Any, y: np.ndarray, settings: dict[str, Any]) -> tuple[int, bool]:
    if not settings:
        return 0, not C_min(spn, kernels, y, n_threads=1) > 0
    solution = solve(spn, kernels, y, n_threads=1, warn=False, **settings)
    return solution.history[-1].evaluations, solution.status not in {"optimal", "stationary"}


def counted(runs: list[Callable[[], tuple[int, bool]]]) -> Counts:
    began = time.process_time()
    results = [run() for run in runs]
    return sum(e for e, _ in results), time.process_time() - began, sum(missed for _, missed in results)


def constants(module: str) -> Iterator[str]:
    """Names of a module's numbers that are read anew each time: not by a compiled loop, not as a default."""
    tree = ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    compiled = [f for f in functions if any("njit" in ast.unparse(d) for d in f.decorator_list)]
    frozen = {
        node.id
        for part in [*compiled, *(f.args for f in functions)]
        for node in ast.walk(part)
        if isinstance(node, ast.Name)
    }
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets:
                name = ast.unparse(target)
                if name.isupper() and name not in frozen and scaled(vars(MODULES[module])[name], 2) is not None:
                    yield name


def scaled(value: Any, factor: float) -> Any:
    """None for what is no number."""
    if isinstance(value, tuple) and all(isinstance(v, int | float) for v in value):
        return tuple(scaled(v, factor) for v in value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


MODULES = {file.stem: import_module(f"spnmkl.solvers.{file.stem}") for file in sorted(FOLDER.glob("[a-z]*.py"))}


def main(chosen: list[str]) -> None:
    known: dict[str, tuple[list[Callable[[], tuple[int, bool]]], Counts]] = {}
    print("| module | constant | value | halved: kernels, time, missed | doubled: kernels, time, missed |")
    print("|---|---|---|---|---|")
    for module in chosen or list(MODULES):
        kind = KINDS.get(module, "newton")
        if kind not in known:
            runs = trainings(kind)
            counted(runs)
            known[kind] = runs, counted(runs)
        runs, (kernels, seconds, missed) = known[kind]
        for name in constants(module):
            value, cells = vars(MODULES[module])[name], []
            for factor in (0.5, 2.0):
                setattr(MODULES[module], name, scaled(value, factor))
                now = counted(runs)
                cells.append(f"{now[0] / max(kernels, 1):.2f}, {now[1] / seconds:.2f}, {now[2] - missed:+d}")
            setattr(MODULES[module], name, value)
            print(f"| {module} | {name} | {value} | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
