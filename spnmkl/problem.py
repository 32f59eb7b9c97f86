"""What is solved (eq. 3), checked once when it is posed; and the rule from decision value to class (`answers`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spnmkl.circuit.program import Circuit, Floats, compile_circuit
from spnmkl.circuit.source import KernelSource, MatrixSource, interruptible, is_computed
from spnmkl.errors import DataError, KernelError, ParameterError, Stopped, StructureError
from spnmkl.kernels.matrices import check_matrix
from spnmkl.parameters import Power, checked_threads, class_weights, positive, power
from spnmkl.structure import SPN
from spnmkl.structure.nodes import describe, name_list


@dataclass(frozen=True)
class Problem:
    """Eq. 3: min over β ≥ 0, w, b of Σ_m ‖w_m‖²/(2 g_m(β)) + λ Σ_v c_v β_v^{p_v} + Σ_i C_i ℓ_i.

    Attributes
    ----------
    Y : (classes, n) labels ±1; one row for two classes, one-vs-rest otherwise.
    C : (n,) C_i = C · weight_i.
    p : (V,) exponents of the regulariser.
    single : whether kernels, and so K(β), are computed in single precision; see `in_single`.
    stop : asked now and then; once it is true, SVMs end where they are, which is feasible, and passes raise `Stopped`.
    """

    circuit: Circuit
    source: KernelSource
    Y: Floats
    C: Floats
    lam: float
    p: Floats
    n_threads: int = 1
    stop: Callable[[], bool] | None = None
    single: bool = False

    @property
    def n(self) -> int:
        return len(self.C)

    def watched(self, stop: Callable[[], bool]) -> Problem:
        """The same problem, whose passes over the kernels raise `Stopped` once `stop` is true."""
        return replace(self, stop=stop, source=interruptible(self.source, stop))

    def in_single(self) -> Problem | None:
        """The same problem with kernels in single precision, where they are computed whenever they are needed."""
        return replace(self, source=self.source.in_single(), single=True) if is_computed(self.source) else None

    def pause(self) -> None:
        """A chance to stop, within what takes long."""
        if self.stop is not None and self.stop():
            raise Stopped

    @cached_property
    def c(self) -> Floats:
        """(V,) c_v = Σ_m e_mv, eq. 2."""
        return self.circuit.total_exponents()

    def regularizer(self, beta: Floats) -> float:
        """R₂ = λ Σ_v c_v β_v^{p_v} of eq. 3."""
        return float(self.lam * (self.c * beta**self.p).sum())

    def regularizer_slope(self, beta: Floats) -> Floats:
        """∂R₂/∂log β_v = λ c_v p_v β_v^{p_v}, the first half of eq. 5."""
        return self.lam * self.c * self.p * beta**self.p

    @cached_property
    def convex(self) -> bool:
        return bool((self.p >= 1).all())

    @cached_property
    def bounded(self) -> bool:
        """A dual bound is known: the problem is convex in β (eq. 10), or in τ_v = β_v^{p_v} (eq. 12)."""
        return self.convex or self.path_sums[1].max() <= 1 + _ROUNDING

    @property
    def path_sums(self) -> tuple[Floats, Floats]:
        """(components,) the least and the largest Σ_v e_mv/p_v over the paths of every component.

        It is convex in τ where the largest are at most 1; a component where both are 1 is homogeneous in τ, so that
        it vanishes as a whole or not at all (eq. 12, eq. 16).
        """
        return self.circuit.path_sums(self.p)

    @cached_property
    def homogeneous(self) -> NDArray[np.bool_]:
        """(components,) which of them vanish as a whole or not at all."""
        low, high = self.path_sums
        return (low >= 1 - _ROUNDING) & (high <= 1 + _ROUNDING)

    @cached_property
    def linear(self) -> bool:
        """K(β) is linear in β: every path has one product."""
        return bool(self.circuit.n_operations == 1 and (np.diff(self.circuit.X.indptr) == 1).all())

    @property
    def components(self) -> NDArray[np.intp]:
        """(V,) the component of every product: products joined by sharing a path (formulation, section 6)."""
        return self.circuit.components

    def beta_dict(self, beta: Floats) -> dict[str, float]:
        return dict(zip(self.circuit.products, beta.tolist(), strict=True))

    def beta_array(self, beta: Mapping[str, float]) -> Floats:
        """(V,) weights given by name: every product has one, finite and at least 0."""
        if not isinstance(beta, Mapping):
            raise ParameterError(f"Weights must be a mapping from product to number, but it is {beta!r}; pass a dict.")
        for v in beta:
            if v not in self.circuit.products:
                raise ParameterError(
                    f"A weight is given for {v!r}, which is not a product of the structure; remove it."
                )
        for v in self.circuit.products:
            if v not in beta:
                raise ParameterError(f"Product {v!r} has no weight; give a number of at least 0 for every product.")
            if not (isinstance(beta[v], (int, float, np.number)) and 0 <= beta[v] < np.inf):
                raise ParameterError(
                    f"The weight of {v!r} must be a finite number of at least 0, but it is {beta[v]!r}; choose 0 to "
                    "take the product out."
                )
        return np.array([beta[v] for v in self.circuit.products], dtype=float)


_ROUNDING = 1e-12  # what a sum of e_mv/p_v may differ from 1 by
_WORTH_THREADS = 1_000_000  # entries below which starting threads costs more than it saves


def build_problem(
    spn: SPN,
    kernels: Mapping[str, ArrayLike] | KernelSource,
    y: ArrayLike,
    *,
    C: float = 1.0,
    lam: float = 1.0,
    p: Power = None,
    sample_weight: ArrayLike | None = None,
    class_weight: Mapping[object, float] | str | None = None,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
) -> tuple[Problem, NDArray]:
    """Check everything a user gives, and pose the problem; also returns the classes.

    Once `stop` is true, matrices that were not yet looked at are taken unseen: nothing will be computed with them.
    """
    C, lam, p = positive(C, "C"), positive(lam, "lam"), power(p)
    if not isinstance(spn, SPN):
        raise StructureError(f"The structure must be an SPN, but it is a {type(spn).__name__}; see SPN.from_dict.")
    spn.check()
    labels = check_labels(y)
    classes, codes = classes_of(labels)
    threads = checked_threads(n_threads)
    source = checked_source(spn, kernels, len(labels), threads, stop)
    circuit = compile_circuit(spn)
    weight = sample_weights(len(labels), codes, classes, sample_weight, class_weight)
    problem = Problem(
        circuit=circuit,
        source=source,
        Y=one_vs_rest(codes, len(classes)),
        C=C * weight,
        lam=lam,
        p=powers(spn, circuit, p),
        n_threads=threads,
    )
    return problem, classes


def check_labels(y: ArrayLike) -> NDArray:
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) == 0:
        raise DataError(
            f"y must be a list of labels, one per sample, but its shape is {labels.shape}; pass a 1-D array."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DataError("y holds NaN or infinity; drop these samples or give them a label.")
    if labels.dtype.kind == "O" and len({type(label) for label in labels}) > 1:
        kinds = sorted({type(label).__name__ for label in labels})
        raise DataError(
            f"y must hold labels of one kind, but it holds {', '.join(kinds)}; make them all text or numbers."
        )
    return labels


def classes_of(labels: NDArray) -> tuple[NDArray, NDArray[np.intp]]:
    """Two or more, and which of them every label is."""
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise DataError(
            f"y must hold at least two classes, but all {len(labels)} labels are {classes[0]}; add samples of another "
            "class."
        )
    return classes, codes


def one_vs_rest(codes: NDArray[np.intp], n_classes: int) -> Floats:
    """(1, n) for two classes, +1 for the second; (classes, n) otherwise."""
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[None]
    return np.where(codes == np.arange(n_classes)[:, None], 1.0, -1.0)


def answers(decision: Floats, classes: NDArray) -> NDArray:
    """The class of every row: of two the second where the decision is positive, of more that of the largest one."""
    return classes[(decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)]


def checked_source(
    spn: SPN,
    kernels: Mapping[str, ArrayLike] | KernelSource,
    n: int,
    n_threads: int = 1,
    stop: Callable[[], bool] | None = None,
) -> KernelSource:
    """Given matrices, each checked once while it lives; a source is taken as it is."""
    if not isinstance(kernels, Mapping):
        if not hasattr(kernels, "tiles"):
            raise KernelError(
                f"`kernels` must map every leaf to its matrix, but it is a {type(kernels).__name__}; pass a dict."
            )
        if kernels.shape != (n, n):
            raise DataError(f"y holds {n} labels, but the kernels are {kernels.shape[0]} × {kernels.shape[1]}.")
        return kernels
    given: dict[int, tuple[str, ArrayLike]] = {}  # keeps what it has seen alive, so that no id comes twice
    which: dict[str, int] = {}
    for leaf in spn.kernels:
        if leaf not in kernels:
            raise KernelError(
                f"Kernel {leaf!r} has no matrix; expected one ({n}, {n}) matrix per leaf, found them for "
                f"{sorted(kernels, key=str)}; add it to `kernels`."
            )
        K = kernels[leaf]
        if not given and len(size := np.shape(K)) == 2 and size[0] == size[1] != n:
            raise DataError(
                f"y holds {n} labels, but kernel matrix {leaf!r} is {size[0]} × {size[0]}; give one label, and one row "
                "of every matrix, for each sample."
            )
        given.setdefault(id(K), (leaf, K))
        which[leaf] = id(K)
    checked = dict(zip(given, _checked_all(list(given.values()), n, n_threads, stop), strict=True))
    return MatrixSource({leaf: checked[k] for leaf, k in which.items()})


def _checked_all(
    named: Sequence[tuple[str, ArrayLike]], n: int, n_threads: int, stop: Callable[[], bool] | None
) -> list[Floats]:
    def check(one: tuple[str, ArrayLike]) -> Floats:
        stopped = stop is not None and stop()
        return np.asarray(one[1], dtype=float) if stopped else check_matrix(one[1], one[0], n)

    if n_threads == 1 or len(named) * n * n < _WORTH_THREADS:
        return list(map(check, named))
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(check, named))


def sample_weights(
    n: int,
    codes: NDArray[np.intp],
    classes: NDArray,
    sample_weight: ArrayLike | None,
    class_weight: Mapping[object, float] | str | None,
) -> Floats:
    """(n,) weight_i ≥ 0 of C_i = C · weight_i."""
    try:
        weight = np.ones(n) if sample_weight is None else np.array(sample_weight, dtype=float)
    except (TypeError, ValueError):
        raise DataError("sample_weight must hold numbers, one per sample; replace what is none.") from None
    if weight.shape != (n,):
        raise DataError(
            f"sample_weight must hold one number per sample, {n} in all, but its shape is {weight.shape}; pass a 1-D "
            "array."
        )
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise DataError("sample_weight must hold finite numbers of at least 0; replace the others.")
    by_class = class_weights(class_weight)
    if isinstance(by_class, dict):
        weight *= _per_class(by_class, classes)[codes]
    elif by_class is not None:  # balanced
        counts = np.bincount(codes, minlength=len(classes))
        weight *= (n / (len(classes) * counts))[codes]
    with_weight = np.unique(codes[weight > 0])
    if len(with_weight) < 2:
        raise DataError(
            "Fewer than two classes have a positive sample weight; give weight to samples of another class."
        )
    return weight


def _per_class(by_class: Mapping[object, float], classes: NDArray) -> Floats:
    known = [c.item() if hasattr(c, "item") else c for c in classes]
    unknown = [c for c in by_class if c not in known]
    if unknown:
        raise ParameterError(
            f"class_weight names {describe(unknown[0])}, but the classes are {name_list(known)}; remove it."
        )
    return np.array([by_class.get(c, 1.0) for c in known])


def powers(spn: SPN, circuit: Circuit, p: Power) -> Floats:
    """(V,) p_v: from the structure, one value, a mapping, or "sparse" (the smallest exponent v has on its paths)."""
    p = power(p)
    if isinstance(p, str):
        return circuit.smallest_exponents.copy()
    if isinstance(p, Mapping):
        unknown = sorted(set(p) - set(circuit.products))
        if unknown:
            raise ParameterError(f"p names {unknown[0]!r}, which is not a product of the structure; remove it.")
        return np.array([positive(p.get(v, spn.p(v)), f"p of product {v!r}") for v in circuit.products])
    return np.array([spn.p(v) if p is None else p for v in circuit.products], dtype=float)
