"""Bad input gets one clear sentence and changes nothing: every case with its exact sentence."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from cases import FIGURE_1, case_of, drawn, exploding, flat
from oracles import Array, Structure

from spnmkl import SPN, C_min, DataError, KernelError, ParameterError, SPNMKLError, StructureError, solve
from spnmkl.selection import regularization_path
from spnmkl.solvers import SOLVERS

CASE = case_of(flat(2), n=6)
Y = np.array([0, 1, 0, 1, 0, 1])
CYCLE: Structure = drawn("S0>P0, P0>S1 K0, S1>P1, P1>S2, S2>P2, P2>S1 K1")


def changed(K: Array, i: int, j: int, value: float) -> Array:
    K = K.copy()
    K[i, j] = value
    return K


def with_kernel(K1: Any) -> dict[str, Any]:
    return {"kernels": CASE.kernels | {"K1": K1}}


def with_structure(structure: Structure) -> dict[str, Any]:
    spn = SPN.from_dict(structure)
    return {"spn": spn, "kernels": dict.fromkeys(spn.kernels, np.eye(6))}


@cache
def many_nodes(n_nodes: int) -> dict[str, Any]:
    nodes = [{"id": "S", "kind": "sum"}, {"id": "K", "kind": "kernel", "kernel": "precomputed"}]
    nodes += [{"id": f"P{i}", "kind": "product"} for i in range(n_nodes - 2)]
    edges = [[parent, child] for i in range(n_nodes - 2) for parent, child in (("S", f"P{i}"), (f"P{i}", "K"))]
    return with_structure({"format": "spnmkl/structure", "version": 1, "nodes": nodes, "edges": edges})


K1 = CASE.kernels["K1"]
EXPLODING_SENTENCE = (
    "The structure has more than 1,000 path profiles over 32,768 paths, too many to compile, because the children of "
    "the sums 'S2', 'S3', 'S4', 'S5', 'S6' and others differ in their layers; give the children of each of these sums "
    "the same number of layers, and of products per layer."
)
NO_NUMBER = "must be a finite number above 0, but it is"
ONE_WEIGHT_EACH = "sample_weight must hold one number per sample, 6 in all, but its shape is"
NO_WEIGHT = "sample_weight must hold finite numbers of at least 0; replace the others."
NOT_FINITE = (
    "Kernel matrix 'K1' holds NaN or infinity, but kernel values must be finite; remove or fill missing values before "
    "computing it."
)

TABLE: dict[str, tuple[Callable[[], dict[str, Any]], type[SPNMKLError], str]] = {
    "NaN in a kernel": (lambda: with_kernel(changed(K1, 2, 3, np.nan)), KernelError, NOT_FINITE),
    "infinity in a kernel": (lambda: with_kernel(changed(K1, 2, 2, np.inf)), KernelError, NOT_FINITE),
    "a kernel that is not symmetric": (
        lambda: with_kernel(changed(np.eye(6), 0, 1, 0.5)),
        KernelError,
        "Kernel matrix 'K1' is not symmetric: entries (i, j) and (j, i) differ by up to 0.5; if the difference has no "
        "meaning, pass (K + K.T) / 2.",
    ),
    "a kernel that is not positive semidefinite": (
        lambda: with_kernel(np.eye(6) - 0.25),
        KernelError,
        "Kernel matrix 'K1' is not positive semidefinite: it has an eigenvalue of -0.5 or less; set its negative "
        "eigenvalues to zero, or add their size to the diagonal.",
    ),
    "a pair of samples that no kernel has": (
        lambda: with_kernel(np.eye(6) - 2 * np.eye(6)[[1, 0, 2, 3, 4, 5]] * (np.arange(6) < 2)),
        KernelError,
        "Kernel matrix 'K1' is not positive semidefinite: entry (0, 1) is -2, but the diagonal entries of 0 and 1, 1 "
        "and 1, allow at most 1 in size; set its negative eigenvalues to zero, or add their size to the diagonal.",
    ),
    "kernels whose product overflows": (
        lambda: with_structure(drawn("S0>P0, P0>K0 K1")) | {"kernels": {"K0": 1e155 * K1, "K1": 1e155 * K1}},
        KernelError,
        "Kernel values, or products of them, are so large that what is computed from them leaves the range of double "
        "precision; rescale the kernels, for example to a diagonal of 1 (normalize='unit_diagonal').",
    ),
    "a kernel that is not square": (
        lambda: with_kernel(np.ones((6, 5))),
        KernelError,
        "Kernel matrix 'K1' must be square, but its shape is (6, 5); pass the kernel between all training samples.",
    ),
    "a kernel of other samples": (
        lambda: with_kernel(np.eye(7)),
        KernelError,
        "Kernel matrix 'K1' must be 6 × 6, one row per sample, but it is 7 × 7; compute it on the same samples as the "
        "labels.",
    ),
    "a kernel of text": (
        lambda: with_kernel([["a"] * 6] * 6),
        KernelError,
        "Kernel matrix 'K1' must hold real numbers; pass an (n, n) array of floats.",
    ),
    "a leaf without its matrix": (
        lambda: {"kernels": {"K0": CASE.kernels["K0"], "other": K1}},
        KernelError,
        "Kernel 'K1' has no matrix; expected one (6, 6) matrix per leaf, found them for ['K0', 'other']; add it to "
        "`kernels`.",
    ),
    "one class only": (
        lambda: {"y": np.ones(6)},
        DataError,
        "y must hold at least two classes, but all 6 labels are 1.0; add samples of another class.",
    ),
    "one class only, by name": (
        lambda: {"y": ["spam"] * 6},
        DataError,
        "y must hold at least two classes, but all 6 labels are spam; add samples of another class.",
    ),
    "y of the wrong length": (
        lambda: {"y": Y[:5]},
        DataError,
        "y holds 5 labels, but kernel matrix 'K0' is 6 × 6; give one label, and one row of every matrix, for each "
        "sample.",
    ),
    "y of two dimensions": (
        lambda: {"y": Y[:, None]},
        DataError,
        "y must be a list of labels, one per sample, but its shape is (6, 1); pass a 1-D array.",
    ),
    "no labels": (
        lambda: {"y": []},
        DataError,
        "y must be a list of labels, one per sample, but its shape is (0,); pass a 1-D array.",
    ),
    "NaN in y": (
        lambda: {"y": [0, 1, np.nan, 1, 0, 1]},
        DataError,
        "y holds NaN or infinity; drop these samples or give them a label.",
    ),
    "C of zero": (lambda: {"C": 0}, ParameterError, f"C {NO_NUMBER} 0 (int); choose for example 1.0."),
    "negative C": (lambda: {"C": -1.0}, ParameterError, f"C {NO_NUMBER} -1.0 (float); choose for example 1.0."),
    "infinite C": (lambda: {"C": np.inf}, ParameterError, f"C {NO_NUMBER} inf (float); choose for example 1.0."),
    "C as text": (lambda: {"C": "1"}, ParameterError, f"C {NO_NUMBER} '1' (text); choose for example 1.0."),
    "lam of zero": (lambda: {"lam": 0.0}, ParameterError, f"lam {NO_NUMBER} 0.0 (float); choose for example 1.0."),
    "negative lam": (lambda: {"lam": -2}, ParameterError, f"lam {NO_NUMBER} -2 (int); choose for example 1.0."),
    "lam that is no number": (
        lambda: {"lam": None},
        ParameterError,
        f"lam {NO_NUMBER} nothing; choose for example 1.0.",
    ),
    "p of zero": (lambda: {"p": 0}, ParameterError, f"p {NO_NUMBER} 0 (int); choose for example 1.0."),
    "negative p": (
        lambda: {"p": {"P1": -1.0}},
        ParameterError,
        f"p of product 'P1' {NO_NUMBER} -1.0 (float); choose for example 1.0.",
    ),
    "NaN as p": (lambda: {"p": np.nan}, ParameterError, f"p {NO_NUMBER} nan (float); choose for example 1.0."),
    "negative p in the structure": (
        lambda: with_structure(flat(2, p=-1)),
        StructureError,
        "The p of the product β_P0 must be a finite number above 0; found -1. (1 more error: see validate().)",
    ),
    "unknown p": (
        lambda: {"p": "lasso"},
        ParameterError,
        "p must be a number above 0, a mapping, 'sparse' or None, but it is 'lasso' (text).",
    ),
    "p of an unknown product": (
        lambda: {"p": {"P7": 1.0}},
        ParameterError,
        "p names 'P7', which is not a product of the structure; remove it.",
    ),
    "unknown solver": (
        lambda: {"solver": "simplex"},
        ParameterError,
        f"solver must be one of {sorted(SOLVERS)}, but it is 'simplex' (text).",
    ),
    "tol of zero": (
        lambda: {"tol": 0.0},
        ParameterError,
        "tol must be a number between 0 and 1, but it is 0.0 (float); choose for example 1e-3.",
    ),
    "tol above 1": (
        lambda: {"tol": 2},
        ParameterError,
        "tol must be a number between 0 and 1, but it is 2 (int); choose for example 1e-3.",
    ),
    "tol that is no number": (
        lambda: {"tol": "tight"},
        ParameterError,
        "tol must be a number between 0 and 1, but it is 'tight' (text); choose for example 1e-3.",
    ),
    "no iterations": (
        lambda: {"max_iter": 0},
        ParameterError,
        "max_iter must be a whole number of at least 1, or None, but it is 0 (int).",
    ),
    "half an iteration": (
        lambda: {"max_iter": 1.5},
        ParameterError,
        "max_iter must be a whole number of at least 1, or None, but it is 1.5 (float).",
    ),
    "true as max_iter": (
        lambda: {"max_iter": True},
        ParameterError,
        "max_iter must be a whole number of at least 1, or None, but it is True (bool).",
    ),
    "no time": (
        lambda: {"max_time": 0},
        ParameterError,
        "max_time must be a finite number of seconds above 0, or None, but it is 0 (int).",
    ),
    "endless time": (
        lambda: {"max_time": np.inf},
        ParameterError,
        "max_time must be a finite number of seconds above 0, or None, but it is inf (float).",
    ),
    "true as time": (
        lambda: {"max_time": True},
        ParameterError,
        "max_time must be a finite number of seconds above 0, or None, but it is True (bool).",
    ),
    "sample_weight of the wrong length": (
        lambda: {"sample_weight": np.ones(5)},
        DataError,
        f"{ONE_WEIGHT_EACH} (5,); pass a 1-D array.",
    ),
    "one sample_weight": (lambda: {"sample_weight": 2.0}, DataError, f"{ONE_WEIGHT_EACH} (); pass a 1-D array."),
    "negative sample_weight": (lambda: {"sample_weight": [1, 1, 1, 1, 1, -1]}, DataError, NO_WEIGHT),
    "NaN as sample_weight": (lambda: {"sample_weight": [1, 1, 1, 1, 1, np.nan]}, DataError, NO_WEIGHT),
    "weight on one class only": (
        lambda: {"sample_weight": Y},
        DataError,
        "Fewer than two classes have a positive sample weight; give weight to samples of another class.",
    ),
    "unknown class_weight": (
        lambda: {"class_weight": "fair"},
        ParameterError,
        "class_weight must be 'balanced', a mapping from class to weight, or None, but it is 'fair' (text).",
    ),
    "negative class_weight": (
        lambda: {"class_weight": {0: -1.0}},
        ParameterError,
        "The weight of class '0' must be a finite number of at least 0, but it is -1.0 (float).",
    ),
    "class_weight of an unknown class": (
        lambda: {"class_weight": {0: 2.0, "malign": 1.0}},
        ParameterError,
        "class_weight names 'malign' (text), but the classes are 0, 1; remove it.",
    ),
    "a number as callback": (
        lambda: {"callback": 3},
        ParameterError,
        "callback must be a function that takes one argument, or None, but it is 3 (int).",
    ),
    "an empty structure": (
        lambda: {"spn": SPN.from_dict({"format": "spnmkl/structure", "version": 1, "nodes": [], "edges": []})},
        StructureError,
        "The structure is empty; draw at least one product over one kernel.",
    ),
    "a cycle": (
        lambda: with_structure(CYCLE),
        StructureError,
        "There is a cycle, the sum 'S1' → β_P1 → the sum 'S2' → β_P2 → the sum 'S1'; remove one of its edges.",
    ),
    "10^5 nodes": (
        lambda: many_nodes(10**5),
        StructureError,
        "The structure has 100,000 nodes; at most 20,000 are allowed.",
    ),
    "exploding profiles": (lambda: with_structure(exploding(15)), StructureError, EXPLODING_SENTENCE),
    "a sum over a kernel": (
        lambda: with_structure(drawn("S0>P0 K0, P0>K1")),
        StructureError,
        "The kernel 'precomputed · K0' stands directly below the sum 'S0'; every child of a sum must be a product.",
    ),
}


def posed(changes: dict[str, Any]) -> dict[str, Any]:
    return {"spn": CASE.spn, "kernels": CASE.kernels, "y": Y} | changes


@pytest.mark.parametrize("name", TABLE)
def test_the_sentence(name: str) -> None:
    change, error, sentence = TABLE[name]
    with pytest.raises(error) as refused:
        solve(**posed(change()))
    assert str(refused.value) == sentence
    assert isinstance(refused.value, ValueError)


@pytest.mark.parametrize("name", TABLE)
def test_nothing_is_changed(name: str) -> None:
    change, error, _ = TABLE[name]
    given = posed(change())
    kernels = {leaf: np.array(K) for leaf, K in given["kernels"].items()}
    y, drawing = np.array(given["y"]), given["spn"].to_dict() if len(given["spn"].nodes) < 1000 else None
    with pytest.raises(error):
        solve(**given)
    assert given["kernels"].keys() == kernels.keys()
    for leaf, K in given["kernels"].items():
        np.testing.assert_array_equal(K, kernels[leaf])
    np.testing.assert_array_equal(given["y"], y)
    assert drawing is None or given["spn"].to_dict() == drawing


@pytest.mark.parametrize(
    "name",
    ["NaN in a kernel", "kernels whose product overflows", "one class only", "a leaf without its matrix", "a cycle"],
)
def test_C_min_and_paths_say_the_same(name: str) -> None:
    change, error, sentence = TABLE[name]
    for call in (C_min, regularization_path):
        with pytest.raises(error) as refused:
            call(**posed(change()))
        assert str(refused.value) == sentence


UNCLEAR = {
    "a start without a product": {"start": {"P0": 1.0}},
    "a start for an unknown product": {"start": {"P0": 1.0, "P1": 1.0, "P7": 1.0}},
    "a negative start": {"start": {"P0": -1.0, "P1": 1.0}},
    "NaN as start": {"start": {"P0": np.nan, "P1": 1.0}},
    "text as n_threads": {"n_threads": "two"},
    "text as sample_weight": {"sample_weight": ["heavy"] * 6},
    "labels of mixed kinds": {"y": np.array([0, "a", None, 1, 0, 1], dtype=object)},
    "a list of kernels": {"kernels": [np.eye(6), np.eye(6)]},
    "no structure": {"spn": FIGURE_1},
    "text as class_weight": {"class_weight": {0: "heavy"}},
}


@pytest.mark.parametrize("changes", UNCLEAR.values(), ids=UNCLEAR)
def test_no_traceback_from_inside(changes: dict[str, Any]) -> None:
    with pytest.raises(SPNMKLError):
        solve(**posed(changes))
