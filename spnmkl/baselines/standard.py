"""The methods that structures are compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spnmkl.baselines.labels import labelled
from spnmkl.baselines.methods import Method
from spnmkl.fixed_weights import equal
from spnmkl.structure import SPN, Kernel, Product, Sum, templates

NORMS = {"4/3": 4 / 3, "2": 2.0, "4": 4.0}
WIDTHS = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)


def baselines(groups: Mapping[str, Sequence[Kernel]], n_features: int | None = None) -> dict[str, Method]:
    """Methods over base kernels that come in groups, such as the views of the data.

    ℓ_q-norm MKL (Kloft et al. 2011) minimises ½ Σ_m ‖w_m‖²/θ_m + C Σ_i ℓ_i over ‖θ‖_q ≤ 1. Minimised over θ,
    its first term is ½ (Σ_m ‖w_m‖^r)^{2/r} with r = 2q/(q+1). One layer with exponent p, minimised over β, has a
    multiple of Σ_m ‖w_m‖^r with r = 2p/(p+1): so p = q, at another C, which is chosen anyhow. SimpleMKL is q = 1.

    Parameters
    ----------
    groups : mapping from name to sequence of Kernel
        The kernels of each group; labels must be given and differ.
    n_features : int, default=None
        For a support vector machine on all columns, standardised, with rbf kernels of several widths; None for none.

    Returns
    -------
    dict from name to Method
        Those over groups are left out where there is one group only.

    Raises
    ------
    StructureError
        A kernel has no label, or two have the same.

    Examples
    --------
    >>> from spnmkl import Kernel
    >>> from spnmkl.baselines import baselines
    >>> list(baselines({"all": [Kernel("linear", label="linear"), Kernel("rbf", label="rbf")]}))
    ['average kernel', 'best kernel', 'SimpleMKL', 'ℓ_4/3-MKL', 'ℓ_2-MKL', 'ℓ_4-MKL']
    """
    kernels = labelled(kernel for group in groups.values() for kernel in group)
    methods = [
        Method("average kernel", (templates.flat(kernels),), equal),
        Method("best kernel", tuple(templates.flat([kernel]) for kernel in kernels), equal),
        Method("SimpleMKL", (templates.flat(kernels),)),
        *(Method(f"ℓ_{name}-MKL", (templates.flat(kernels, p=q),)) for name, q in NORMS.items()),
    ]
    if len(groups) > 1:
        methods += [
            Method("composite", (templates.grouped(groups),)),
            Method("product of sums", (templates.product_of_sums(groups),)),
            Method("sums and product", (sums_and_product(groups),)),
        ]
    if n_features is not None:
        methods.append(Method("RBF-SVM", tuple(templates.flat([kernel]) for kernel in widths(n_features)), equal))
    return {method.name: method for method in methods}


def sums_and_product(groups: Mapping[str, Sequence[Kernel]]) -> SPN:
    """The groups each for itself, and the product of them all: p = 1 prunes whichever of these does not help.

    Parameters
    ----------
    groups : mapping from name to sequence of Kernel
        The kernels of each group.

    Returns
    -------
    SPN
        A sum of one branch per group and their product.

    Examples
    --------
    >>> from spnmkl import Kernel
    >>> from spnmkl.baselines import sums_and_product
    >>> groups = {"a": [Kernel("rbf", features=[0], label="a")], "b": [Kernel("rbf", features=[1], label="b")]}
    >>> sums_and_product(groups).n_paths
    3
    """

    def added(kernels: Sequence[Kernel]) -> Sum:
        return Sum(*(Product(kernel.on(kernel.spec.features, kernel.node.label)) for kernel in kernels))

    single = (Product(added(kernels), label=name) for name, kernels in groups.items())
    return SPN(Sum(*single, Product(*map(added, groups.values()), label="product")))


def widths(n_features: int) -> list[Kernel]:
    """Rbf kernels on all columns, standardised; 1/n_features is a usual width.

    Parameters
    ----------
    n_features : int
        The number of columns.

    Returns
    -------
    list of Kernel
        From a sixteenth of the usual width to sixteen times.

    Examples
    --------
    >>> from spnmkl.baselines import widths
    >>> len(widths(10))
    5
    """
    return [Kernel("rbf", gamma=width / n_features, label=f"all rbf {width:g}") for width in WIDTHS]
