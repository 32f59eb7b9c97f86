"""Who takes part in a comparison: drawn structures, and the baselines over the base kernels of the first of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from spnmkl.baselines import Method, baselines
from spnmkl.baselines.labels import named_kernel
from spnmkl.baselines.standard import NORMS, WIDTHS
from spnmkl.circuit.program import compile_circuit
from spnmkl.data import Choices, Dataset
from spnmkl.fixed_weights import equal
from spnmkl.parameters import Power
from spnmkl.problem import powers
from spnmkl.structure import SPN, Kernel, KernelSpec, templates
from spnmkl.training.prepared import leaves_by_view
from spnmkl.wording import name_some

OWN = "your drawing"
RBF_SVM = "RBF-SVM"
ACROSS, COLUMNS = "across views", "columns"  # groups of kernels that belong to no one view
_Matrix = KernelSpec | str  # what tells base kernels apart: a given matrix has its name alone


@dataclass(frozen=True, eq=False)
class Entrants:
    """What is compared.

    Attributes
    ----------
    methods : name → method, over kernels found by the labels of `pool`; the person's drawing first.
    pool : every base kernel of every method once, added up: what has to be computed.
    drawn : name → structure as it was drawn, for the methods that are drawings.
    groups : name of a group of base kernels → their labels.
    remarks : what is compared in which way, or not at all, in sentences.
    """

    methods: Mapping[str, Method]
    pool: SPN
    drawn: Mapping[str, SPN]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def entrants(
    spn: SPN, dataset: Dataset, choices: Choices, p: Power = None, others: Mapping[str, SPN] | None = None
) -> Entrants:
    """A drawing, other structures on the same data, and the baselines over the drawing's base kernels.

    Parameters
    ----------
    spn : SPN
        A valid drawing.
    p : as for `spnmkl.solve`: the exponents of the drawing where they are not those that were drawn.
    others : mapping from name to SPN, optional
    """
    wide = _all_columns(dataset, choices)
    structures = [(OWN, with_powers(spn, p)), *(others or {}).items()]
    labels = _labels([structure for _, structure in structures], wide)
    own = {labels[_matrix(spn, leaf)]: named_kernel(spn.spec(leaf), labels[_matrix(spn, leaf)]) for leaf in spn.kernels}
    groups, remark = _grouped(spn, dataset, labels)
    methods = baselines({name: [own[label] for label in group] for name, group in groups.items()})
    remarks = [remark] if remark else []
    if len(own) == 1:
        methods = {name: method for name, method in methods.items() if name == "average kernel"}
        remarks = ["The drawing has one base kernel, so that there is nothing to combine: it alone is the baseline."]
    if wide:
        svm = tuple(templates.flat([named_kernel(k.spec, labels[k.spec])]) for k in wide)
        methods[RBF_SVM] = Method(RBF_SVM, svm, equal)
    else:
        remarks.append(f"{RBF_SVM} is left out, because there is no column of numbers.")
    drawn = _named_apart(structures, methods)
    named = {name: Method(name, (_relabelled(structure, labels),)) for name, structure in drawn.items()}
    return Entrants(named | methods, _pool(labels), drawn, groups, tuple(remarks))


def _named_apart(structures: Sequence[tuple[str, SPN]], methods: Iterable[str]) -> dict[str, SPN]:
    """The drawing as the first, and runs under names that neither it, nor a method, nor another run has."""
    (own, first), *others = structures
    found = {own: first}
    norms = {f"ℓ{sign}{q}-MKL" for q in NORMS for sign in ("", "_")}  # as they are shown, and called
    for wish, structure in others:
        found[_free(wish, {*methods, *norms, *found})] = structure
    return found


def drawings(structures: Mapping[str, SPN]) -> Entrants:
    """Drawn structures alone."""
    labels = _labels(structures.values(), ())
    methods = {name: Method(name, (_relabelled(spn, labels),)) for name, spn in structures.items()}
    return Entrants(methods, _pool(labels), structures)


def with_powers(spn: SPN, p: Power) -> SPN:
    """The drawing with the exponents that training would use."""
    if p is None:
        return spn
    circuit = compile_circuit(spn)
    known = dict(zip(circuit.products, powers(spn, circuit, p).tolist(), strict=True))
    stored = spn.to_dict()
    for node in stored["nodes"]:
        if node["id"] in known:
            node["p"] = known[node["id"]]
    return SPN.from_dict(stored)


def _grouped(spn: SPN, dataset: Dataset, labels: Mapping[_Matrix, str]) -> tuple[dict[str, tuple[str, ...]], str]:
    """The base kernels by view or, where that gives one group, by kind; and what to say about it."""
    views: dict[str, str] = {}
    for view, leaves in leaves_by_view(spn, dataset).items():
        views = dict.fromkeys(leaves, view) | views
    rest = ACROSS if dataset.feature_views else COLUMNS
    by_view = {
        leaf: spn.label(leaf) if spn.spec(leaf).kernel == "precomputed" else views.get(leaf, rest)
        for leaf in spn.kernels
    }
    by_kind = {leaf: spn.spec(leaf).kernel for leaf in spn.kernels}
    for words, groups in (("views", by_view), ("kinds", by_kind)):
        if len(found := dict.fromkeys(groups.values())) > 1:
            members = {
                name: tuple(dict.fromkeys(labels[_matrix(spn, leaf)] for leaf in spn.kernels if groups[leaf] == name))
                for name in found
            }
            return members, f"Groups of kernels are the {words} {name_some(list(found))}."
    everything = tuple(dict.fromkeys(labels[_matrix(spn, leaf)] for leaf in spn.kernels))
    return {COLUMNS: everything}, (
        "Composite, product of sums, and sums and product are left out, because all kernels are of one view and one "
        "kind, and these methods need groups."
    )


def _all_columns(dataset: Dataset, choices: Choices) -> list[Kernel]:
    """Rbf kernels on everything that may be taken for a quantity, of widths that follow the spread of the columns."""
    coded = choices.categorical == "codes" and dataset.categorical
    columns = dataset.numeric if coded or choices.categorical == "drop" else dataset.features
    seen = columns if coded else None
    gammas = {w: "scale" if w == 1 else f"{w:g}*scale" for w in WIDTHS}
    return [Kernel("rbf", gamma=gammas[w], features=seen, label=f"all ×{w:g}") for w in WIDTHS] if columns else []


def _labels(structures: Iterable[SPN], wide: Sequence[Kernel]) -> dict[_Matrix, str]:
    """Every base kernel with a label of its own: a given matrix keeps its name, others their label where it is free."""
    wished: dict[_Matrix, str] = {}
    for spn in structures:
        for leaf in spn.kernels:
            wished.setdefault(_matrix(spn, leaf), spn.label(leaf))
    for kernel in wide:
        wished.setdefault(kernel.spec, str(kernel.node.label))
    given = [matrix for matrix in wished if isinstance(matrix, str)]
    labels: dict[_Matrix, str] = {matrix: str(matrix) for matrix in given}
    for matrix, wish in wished.items():
        labels.setdefault(matrix, _free(wish, set(labels.values())))
    return {matrix: labels[matrix] for matrix in wished}


def _pool(labels: Mapping[_Matrix, str]) -> SPN:
    return templates.flat([named_kernel(_spec(matrix), label) for matrix, label in labels.items()])


def _free(wish: str, taken: Iterable[str]) -> str:
    names, name, k = {*taken, OWN}, wish, 1
    while name in names:
        name, k = f"{wish} ({k + 1})", k + 1
    return name


def _matrix(spn: SPN, leaf: str) -> _Matrix:
    spec = spn.spec(leaf)
    return spn.label(leaf) if spec.kernel == "precomputed" else spec


def _spec(matrix: _Matrix) -> KernelSpec:
    return KernelSpec("precomputed") if isinstance(matrix, str) else matrix


def _relabelled(spn: SPN, labels: Mapping[_Matrix, str]) -> SPN:
    """The same nodes, each leaf called as its base kernel is in the pool."""
    stored = spn.to_dict()
    for node in stored["nodes"]:
        if node["kind"] == "kernel":
            node["label"] = labels[_matrix(spn, node["id"])]
    return SPN.from_dict(stored)
