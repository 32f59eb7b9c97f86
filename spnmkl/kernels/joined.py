"""Kernels of two kinds in one source: those computed tile by tile beside matrices that were given."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource, MatrixSource, is_computed


class JoinedSource:
    """A `KernelSource` of the leaves of two: computed ones, and matrices over the same rows."""

    def __init__(self, computed: KernelSource, given: MatrixSource) -> None:
        self.computed, self.given = computed, given

    @property
    def shape(self) -> tuple[int, int]:
        return self.given.shape

    def tiles(self, leaves: Sequence[str], rows: slice, columns: slice) -> list[Floats]:
        own = [leaf for leaf in leaves if leaf not in self.given.matrices]
        found = dict(zip(own, self.computed.tiles(own, rows, columns), strict=True)) if own else {}
        return [found[leaf] if leaf in found else self.given.matrices[leaf][rows, columns] for leaf in leaves]

    def rows_per_tile(self) -> int:
        return self.computed.rows_per_tile()


class JoinedComputedSource(JoinedSource):
    """The same where the computed kernels are between the rows themselves."""

    def among(self, rows: NDArray[np.intp]) -> KernelSource:
        assert is_computed(self.computed)
        cut = {leaf: K[np.ix_(rows, rows)] for leaf, K in self.given.matrices.items()}
        return JoinedComputedSource(self.computed.among(rows), MatrixSource(cut))

    def together(self, leaves: Sequence[str]) -> list[list[str]]:
        assert is_computed(self.computed)
        given = self.given.matrices
        own = self.computed.together([leaf for leaf in leaves if leaf not in given])
        return [*own, *([leaf] for leaf in leaves if leaf in given)]

    def in_single(self) -> KernelSource:
        assert is_computed(self.computed)
        return JoinedComputedSource(self.computed.in_single(), self.given)


def joined(computed: KernelSource, given: dict[str, Floats]) -> KernelSource:
    """The computed leaves and the given ones as one source."""
    if not given:
        return computed
    if isinstance(computed, MatrixSource):
        return MatrixSource(computed.matrices | given)
    kind = JoinedComputedSource if is_computed(computed) else JoinedSource
    return kind(computed, MatrixSource(given))
