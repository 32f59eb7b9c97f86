"""Kernels by their labels: all methods share the matrices of one split of the data."""

from __future__ import annotations

from collections.abc import Iterable

from spnmkl.circuit.program import Floats
from spnmkl.errors import KernelError, ParameterError, StructureError
from spnmkl.fixed_weights import Matrices
from spnmkl.structure import SPN, Kernel, KernelSpec
from spnmkl.structure.nodes import first_double


def named_kernel(spec: KernelSpec, label: str) -> Kernel:
    """A new leaf that computes what another does."""
    return Kernel(spec.kernel, features=spec.features, normalize=spec.normalize, label=label, **dict(spec.params))


def labelled(kernels: Iterable[Kernel]) -> list[Kernel]:
    found = list(kernels)
    if not found:
        raise ParameterError("The groups hold no kernel; give each group at least one.")
    labels = [kernel.node.label for kernel in found]
    if None in labels:
        raise StructureError(f"Methods find matrices by label; {found[labels.index(None)]!r} has none: give label=.")
    if (double := first_double(label for label in labels if label is not None)) is not None:
        raise StructureError(f"Two kernels have the label {double!r}; give each base kernel its own.")
    return found


def of_leaves(spn: SPN, kernels: Matrices) -> dict[str, Floats]:
    lacking = sorted({spn.label(leaf) for leaf in spn.kernels} - set(kernels))
    if lacking:
        raise KernelError(f"Kernel {lacking[0]!r} has no matrix; found those of {sorted(kernels)}; add it.")
    return {leaf: kernels[spn.label(leaf)] for leaf in spn.kernels}
