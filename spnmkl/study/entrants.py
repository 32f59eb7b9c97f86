"""Who takes part in a comparison: drawn structures, the baselines over the base kernels of the first, and methods over
columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from spnmkl.baselines import ColumnMethod, Method, baselines, column_methods
from spnmkl.baselines.columns import LATE_FUSION
from spnmkl.baselines.labels import named_kernel
from spnmkl.baselines.standard import NORMS
from spnmkl.circuit.program import compile_circuit
from spnmkl.data import Choices, Dataset, Split, SplitSettings
from spnmkl.parameters import CHOSEN, Power
from spnmkl.problem import powers
from spnmkl.structure import SPN, KernelSpec, templates
from spnmkl.training.default import suited_drawing
from spnmkl.training.prepared import leaves_by_view
from spnmkl.training.settings import Settings
from spnmkl.wording import name_some

OWN = "your drawing"
_SHOWN = {f"ℓ_{q}-MKL": f"ℓ{q}-MKL" for q in NORMS}
ACROSS, COLUMNS = "across views", "columns"  # groups of kernels that belong to no one view
_Matrix = KernelSpec | str  # what tells base kernels apart: a given matrix has its name alone


def titled(method: str) -> str:
    """The name as it is shown: ℓ2-MKL for what the library calls ℓ_2-MKL."""
    return _SHOWN.get(method, method)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A structure and how it is to be trained: what differs from how other methods are."""

    spn: SPN
    options: Mapping[str, Any] = field(default_factory=dict)
    p: Power = None
    suits: bool = False  # whether its kernels are those that suit the columns, in every fold those of its training part

    @classmethod
    def of(cls, spn: SPN, settings: Settings) -> Drawn:
        """As training with these settings would have it; C is chosen all the same."""
        return cls(with_powers(spn, settings.p), training_options(settings))

    @classmethod
    def by_default(cls, spn: SPN, settings: Settings) -> Drawn:
        """As somebody has it who draws and sets nothing: in every fold the kernels suit the training part, and the
        weights are those that do best within it."""
        drawn = cls.of(spn, replace(settings, weights="certified"))
        return cls(drawn.spn, {**drawn.options, "weights": CHOSEN}, settings.p, suits=True)


@dataclass(frozen=True, eq=False)
class Entrants:
    """What is compared.

    Attributes
    ----------
    methods : name → method, over kernels found by the labels of `pool` or over columns; the person's drawing first.
    pool : every base kernel of every method once, added up: what has to be computed.
    drawn : name → structure as it was drawn, for the methods that are drawings.
    groups : name of a group of base kernels → their labels.
    remarks : what is compared in which way, or not at all, in sentences.
    options : name → how a drawing is trained, where it differs from how other methods are.
    suited : the first drawing, where its kernels are those that suit the columns.
    """

    methods: Mapping[str, Method | ColumnMethod]
    pool: SPN
    drawn: Mapping[str, SPN]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    suited: Drawn | None = None

    @property
    def over_columns(self) -> tuple[str, ...]:
        """The methods that have columns and no kernels."""
        return tuple(name for name, method in self.methods.items() if isinstance(method, ColumnMethod))

    @property
    def over_kernels(self) -> dict[str, Method]:
        return {name: method for name, method in self.methods.items() if isinstance(method, Method)}

    def among(self, names: Collection[str]) -> Entrants:
        """The drawings, and those of the other methods that are named."""
        methods = {name: method for name, method in self.methods.items() if name in self.drawn or name in names}
        return replace(self, methods=methods)

    def on(self, rows: Split, dataset: Dataset, choices: Choices, split: SplitSettings) -> Entrants:
        """The same on a fold: kernels that suit the columns are those that suit its training part."""
        if self.suited is None:
            return self
        spn = suited_drawing(dataset, choices, split, rows)
        own = replace(self.suited, spn=with_powers(spn, self.suited.p))
        others = {name: Drawn(drawn, self.options.get(name, {})) for name, drawn in self.drawn.items() if name != OWN}
        return entrants(own, dataset, choices, others=others).among(self.methods)


def entrants(
    spn: SPN | Drawn,
    dataset: Dataset,
    choices: Choices,
    p: Power = None,
    others: Mapping[str, SPN | Drawn] | None = None,
) -> Entrants:
    """A drawing, other structures on the same data, the baselines over its base kernels, and methods over columns.

    Parameters
    ----------
    spn : SPN or Drawn
        A valid drawing, with how it is trained where that differs from how other methods are.
    p : as for `spnmkl.solve`: the exponents of the drawing where they are not those that were drawn.
    others : mapping from name to SPN or Drawn, optional
    """
    first = spn if isinstance(spn, Drawn) else Drawn(with_powers(spn, p))
    wished = [(OWN, first), *((name, d if isinstance(d, Drawn) else Drawn(d)) for name, d in (others or {}).items())]
    own_spn = first.spn
    labels = _labels(structure.spn for _, structure in wished)
    matrices = {leaf: labels[_matrix(own_spn, leaf)] for leaf in own_spn.kernels}
    own = {label: named_kernel(own_spn.spec(leaf), label) for leaf, label in matrices.items()}
    groups, remark = _grouped(own_spn, dataset, labels)
    methods: dict[str, Method | ColumnMethod] = {
        **baselines({name: [own[label] for label in group] for name, group in groups.items()})
    }
    remarks = [remark] if remark else []
    if len(own) == 1:
        methods = {name: method for name, method in methods.items() if name == "average kernel"}
        remarks = ["The drawing has one base kernel, so that there is nothing to combine: it alone is the baseline."]
    beside, said = _over_columns([d.spn for _, d in wished], dataset, choices)
    methods |= beside
    remarks += said
    named = _named_apart(wished, methods)
    drawn = {name: structure.spn for name, structure in named.items()}
    shown = {name: Method(name, (_relabelled(structure, labels),)) for name, structure in drawn.items()}
    options = {name: structure.options for name, structure in named.items() if structure.options}
    suited = first if first.suits else None
    return Entrants({**shown, **methods}, _pool(labels), drawn, groups, tuple(remarks), options, suited)


def _over_columns(
    structures: Iterable[SPN], dataset: Dataset, choices: Choices
) -> tuple[dict[str, ColumnMethod], list[str]]:
    """The methods that these data allow, and why others are left out."""
    columns = dataset.numeric if choices.categorical == "drop" else dataset.features
    given = all(spn.spec(leaf).kernel == "precomputed" for spn in structures for leaf in spn.kernels)
    methods = column_methods()
    if given or not columns:
        why = "the kernels are given matrices" if given else "there is no column that they could use"
        return {}, [f"The methods over columns ({', '.join(methods)}) are left out, because {why}."]
    seen = set(columns)
    views = {view for view, members in dataset.feature_views.items() if seen & set(members)}
    inside = {name for members in dataset.feature_views.values() for name in members}
    said = []
    if len(views) + bool(views and seen - inside) < 2:
        del methods[LATE_FUSION]
        said = ["Late fusion is left out, because it has a model for each view, and the data have one view."]
    coded = choices.categorical == "codes" and dataset.categorical
    text = ", and text as a column of 0 and 1 for each value" if coded else ""
    said.append(
        f"The methods over columns have all {len(columns)} columns, prepared as for the kernels from the training rows "
        f"of each fold{text}; a forest and boosting have the same ones."
    )
    return methods, said


def training_options(settings: Settings) -> dict[str, Any]:
    """What differs from how methods are compared: as far as nothing does, the scores are the same."""
    usual, asked = Settings().solver_options(), settings.solver_options()
    if settings.weights == "evidence":
        return {"weights": "evidence", "max_iter": settings.max_iter, "class_weight": settings.class_weight}
    return {name: asked[name] for name in ("lam", "solver", "max_iter", "class_weight") if asked[name] != usual[name]}


def _named_apart(structures: Sequence[tuple[str, Drawn]], methods: Iterable[str]) -> dict[str, Drawn]:
    """The drawing as the first, and runs under names that neither it, nor a method, nor another run has."""
    (own, first), *others = structures
    found = {own: first}
    norms = {f"ℓ{sign}{q}-MKL" for q in NORMS for sign in ("", "_")}  # as they are shown, and called
    for wish, structure in others:
        found[_free(wish, {*methods, *norms, *found})] = structure
    return found


def drawings(structures: Mapping[str, SPN]) -> Entrants:
    """Drawn structures alone."""
    labels = _labels(structures.values())
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


def _labels(structures: Iterable[SPN]) -> dict[_Matrix, str]:
    """Every base kernel with a label of its own: a given matrix keeps its name, others their label where it is free."""
    wished: dict[_Matrix, str] = {}
    for spn in structures:
        for leaf in spn.kernels:
            wished.setdefault(_matrix(spn, leaf), spn.label(leaf))
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
