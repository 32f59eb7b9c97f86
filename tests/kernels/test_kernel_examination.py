"""Kernels that cannot work are named, with what was measured; repairs leave a valid drawing and nothing to say."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnmkl import SPN, Kernel, Product, Sum, templates
from spnmkl.data import Choices, Dataset, SplitSettings, fill_template
from spnmkl.kernels import examine_kernels
from spnmkl.kernels.examination import LEAST_LIKENESS, LEAST_VARIANCE, repair_kernels
from spnmkl.kernels.sampling import KernelSample, Look
from spnmkl.structure.removal import without
from spnmkl.structure.templates import TEMPLATES
from spnmkl.training.kernel_checks import kernel_sample

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(150, 220))
COUNTS = RNG.poisson(0.3, size=(150, 220)) * RNG.integers(1, 200, size=220)
BINARY = RNG.integers(0, 2, size=(150, 220))


def codes(spn: SPN, X: np.ndarray) -> list[str]:
    return [issue.code for issue in examine_kernels(spn, X)]


def looks(spn: SPN, sample: KernelSample) -> list[Look]:
    return [look for look in sample.looks(spn).values() if isinstance(look, Look)]


def flat(*kernels: Kernel) -> SPN:
    return templates.flat(list(kernels))


def test_what_is_measured_against_the_definitions() -> None:
    X = NORMAL[:40, :7]
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(-1))
    (look,) = looks(flat(Kernel("rbf", gamma=0.3)), KernelSample.of(X))
    off = ~np.eye(40, dtype=bool)
    assert look.likeness == pytest.approx(K[off].mean())
    assert look.variance == pytest.approx(1 - K.mean())
    distances = ((X[:, None] - X[None]) ** 2).sum(-1)[np.triu_indices(40, 1)]
    assert look.typical == pytest.approx(1 / np.median(distances))
    H = np.eye(40) - 1 / 40
    entries = (H @ K @ H)[np.triu_indices(40, 1)]
    np.testing.assert_allclose(look.entries, entries / np.linalg.norm(entries), atol=1e-6)


def test_a_width_by_the_number_of_columns_makes_an_identity() -> None:
    (issue,) = examine_kernels(flat(Kernel("rbf", gamma=10 / 220, features=range(220), label="narrow")), NORMAL)
    assert issue.message == (
        "The kernel 'rbf · narrow' is nearly the identity: two rows are less than 0.0001 % as alike as a row is to "
        "itself, on average over 150 rows, so that it learns rows by heart and tells little of new ones. Its γ = "
        "0.0455 is 10 / 220, by the number of its columns."
    )
    assert issue.repair == "take its width from the data (γ = median)"


@pytest.mark.parametrize(
    ("kernel", "X", "code", "repair"),
    [
        (Kernel("laplacian", gamma=5.0), NORMAL, "nearly_identity", "take its width from the data (γ = median)"),
        (Kernel("rbf", gamma=1e-7), NORMAL, "nearly_constant", "take its width from the data (γ = median)"),
        (Kernel("linear"), 1000 + NORMAL, "nearly_constant", "take out what all rows have in common"),
        (Kernel("polynomial", degree=20, coef0=0), NORMAL, "nearly_identity", "take the degree 2"),
        (Kernel("cosine"), np.vstack([COUNTS[:9] * 0, COUNTS]), "zero_rows", "compare by distance instead"),
        (Kernel("rbf", features=[0]), np.c_[np.ones(150), NORMAL], "nearly_constant", "take 'K₁ rbf · column 0' out"),
        (Kernel("linear", features=[0]), 9 + abs(NORMAL), "nearly_constant", "take out what all rows have in common"),
        (Kernel("rbf", gamma=5.0, features=[0, 1]), NORMAL, "width_by_columns", "take its width from the data"),
    ],
)  # fmt: skip
def test_each_finding_has_its_repair(kernel: Kernel, X: np.ndarray, code: str, repair: str) -> None:
    spn = flat(kernel, Kernel("rbf", features=[1], label="other"))
    found = [issue for issue in examine_kernels(spn, X) if issue.nodes[0] == "k1"]
    assert [issue.code for issue in found] == [code]
    assert str(found[0].repair).startswith(repair)
    assert codes(repair_kernels(spn, KernelSample.of(X)), X) == []


def test_what_works_is_not_named() -> None:
    one = NORMAL[:, :1]
    assert codes(flat(Kernel("rbf", gamma=100.0)), one) == []  # local, but in one column rows have neighbours
    assert codes(flat(Kernel("linear"), Kernel("rbf"), Kernel("cosine", features=[0, 1])), NORMAL) == []
    assert codes(flat(Kernel("linear", normalize="centred")), 1000 + NORMAL) == []
    # Two wide views of noise: nothing but their diagonals is alike.
    X = np.hstack([NORMAL, RNG.normal(size=(150, 220))])
    assert codes(flat(Kernel("rbf", features=range(220)), Kernel("rbf", features=range(220, 440))), X) == []
    # Leaves that are equal, but do not compete.
    assert codes(templates.polynomial(Kernel("linear")), NORMAL) == []


def test_nearly_equal_kernels_are_named_and_one_is_taken_away() -> None:
    X = np.hstack([NORMAL[:, :3], NORMAL[:, :3] * (1 + 1e-6)])
    spn = flat(Kernel("rbf", features=[0, 1, 2], label="a"), Kernel("rbf", features=[3, 4, 5], label="b"))
    (issue,) = examine_kernels(spn, X)
    assert issue.code == "nearly_equal"
    assert issue.message.startswith(
        "'rbf · b' (β_b) and 'rbf · a' (β_a) below the top sum are nearly equal on these rows"
    )
    assert issue.applied(spn) == without(spn, "p2")


def test_widths_that_compete_name_the_narrowest() -> None:
    (issue,) = examine_kernels(flat(Kernel("rbf", gamma="4*median"), Kernel("rbf", gamma="median")), NORMAL)
    assert (issue.code, issue.widths, issue.repair) == ("widths_compete", ("k2", "k1"), None)
    assert "favour the narrowest, 'K₁ rbf'" in issue.message
    assert codes(SPN(Product(Kernel("rbf", gamma="4*median"), Kernel("rbf", gamma="median"))), NORMAL) == []


def test_a_kernel_that_cannot_be_computed_is_an_error() -> None:
    (issue,) = examine_kernels(flat(Kernel("chi2")), NORMAL)
    assert (issue.code, issue.severity) == ("not_computable", "error")
    assert "needs values of 0 or more" in issue.message


TABLES = {
    "wide": NORMAL,
    "narrow": NORMAL[:, :3],
    "counts": COUNTS,
    "binary": BINARY,
    "skewed": np.exp(3 * NORMAL),
    "equal rows": np.repeat(NORMAL[:15], 10, axis=0),
    "rows of zeros": np.vstack([np.zeros((75, 220)), COUNTS[:75]]),
}


@pytest.mark.parametrize("numeric", ["standardize", "as is"])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("template", TEMPLATES)
def test_no_template_makes_an_identity_or_a_constant(template: str, table: str, numeric: str) -> None:
    X = TABLES[table]
    names = [f"{'ab'[k % 2]}__c{k}" for k in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names).assign(y=np.resize(["u", "v"], len(X)))
    dataset = Dataset("t", frame, "y").views_by_prefix()
    spn = dataset.template(template)
    sample = kernel_sample(dataset, Choices(numeric=numeric), SplitSettings())  # type: ignore[arg-type]
    found = looks(spn, sample)
    assert len(found) == len(spn.kernels)
    for leaf, look in zip(spn.kernels, found, strict=True):
        if spn.spec(leaf).kernel == "rbf":  # a linear kernel of skewed counts may be nearly constant; that is said
            assert look.likeness > LEAST_LIKENESS, spn.label(leaf)
            assert look.variance > LEAST_VARIANCE, spn.label(leaf)


def test_the_same_template_has_the_same_widths_however_many_columns() -> None:
    few, many = (fill_template("grouped", [f"{v}__{k}" for v in "ab" for k in range(n)]) for n in (5, 500))
    gammas = {dict(spn.spec(leaf).params).get("gamma") for spn in (few, many) for leaf in spn.kernels}
    assert gammas == {"median", None}


BAD = st.sampled_from(
    [
        Kernel("rbf", gamma=1e3, features=[0, 1, 2, 3]),
        Kernel("rbf", gamma=1e-9),
        Kernel("rbf", gamma="median"),
        Kernel("laplacian", gamma=50.0, features=[1, 2, 3]),
        Kernel("rbf", gamma=2.5, features=[0, 1, 2, 3]),
        Kernel("cosine", features=[4, 5]),
        Kernel("linear", features=[6]),
        Kernel("rbf", features=[7]),
        Kernel("linear"),
        Kernel("hamming", features=[4, 5]),
    ]
)
ODD = np.column_stack(
    [NORMAL[:60, :4], np.where(np.arange(60)[:, None] < 9, 0, NORMAL[:60, 4:6]), 1e4 + NORMAL[:60, 6], np.ones(60)]
)


@st.composite
def drawings(draw: st.DrawFn, depth: int = 2) -> SPN:
    def product(depth: int) -> Product:
        below = st.integers(0, 1) if depth else st.just(0)
        parts = [total(depth - 1) if draw(below) else draw(BAD).on(draw(BAD).spec.features) for _ in range(2)]
        return Product(*parts[: draw(st.integers(1, 2))])

    def total(depth: int) -> Sum:
        return Sum(*(product(depth) for _ in range(draw(st.integers(1, 3)))))

    return SPN(total(depth))


@given(drawings())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_after_repairs_the_drawing_is_valid_and_nothing_is_left_to_repair(spn: SPN) -> None:
    sample = KernelSample.of(ODD)
    for issue in examine_kernels(spn, ODD):
        changed = issue.applied(spn)
        changed.check()
        if issue.change is not None:
            (leaf, *_) = issue.nodes
            assert changed.nodes == spn.nodes
            assert [v for v in spn.nodes if not same_node(spn, changed, v)] == [leaf]
        elif issue.remove is not None:
            kept = set(changed.nodes)
            assert issue.remove not in kept
            assert all(same_node(spn, changed, v) for v in kept)
            edges = {(v, w) for v in spn.nodes for w in spn.children(v) if {v, w} <= kept}
            assert {(v, w) for v in changed.nodes for w in changed.children(v)} == edges
        else:
            assert changed == spn
    repaired = repair_kernels(spn, sample)
    repaired.check()
    # What is left cannot be repaired by itself: widths that compete, or a drawing of which nothing would be left.
    left = [issue for issue in examine_kernels(repaired, ODD) if issue.repair]
    assert left == []


def same_node(one: SPN, other: SPN, v: str) -> bool:
    if one.kind(v) == "kernel":
        return one.spec(v) == other.spec(v) and one.label(v) == other.label(v)
    return one.kind(v) == other.kind(v) and one.label(v) == other.label(v)


def test_sixty_four_kernels_are_looked_at_once() -> None:
    """Counted, since time is not: each kernel is computed once, on at most 200 rows, and kept."""
    X = RNG.normal(size=(1000, 128))
    spn = flat(*(Kernel("rbf", features=[2 * k, 2 * k + 1]) for k in range(64)))
    sample = KernelSample.of(X)
    assert sample.n == 200
    first = sample.looks(spn)
    again = sample.looks(spn.replace("k1", params={"gamma": 2.0}))
    assert [leaf for leaf in spn.kernels if first[leaf] is not again[leaf]] == ["k1"]
    assert math.isfinite(sum(look.likeness for look in looks(spn, sample)))
