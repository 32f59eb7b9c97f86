"""A pass over kernels that is done lane by lane wherever joblib's backend does its work: in processes, on machines.

The lanes and the order in which they are summed are those of a pass in this process, so that the bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.program import Circuit
from spnmkl.circuit.source import ComputedSource, Floats, KernelSource, interruptible, is_computed
from spnmkl.errors import Stopped
from spnmkl.parallel import Place, goes_elsewhere, in_order, side_by_side

S = TypeVar("S", bound=KernelSource)
Pass = Callable[[Circuit, Floats, KernelSource, Floats], Floats]


class Same(Generic[S]):
    """The kernels of another source."""

    def __init__(self, source: S) -> None:
        self.source = source

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    def tiles(self, leaves: Sequence[str], rows: slice, columns: slice) -> list[Floats]:
        return self.source.tiles(leaves, rows, columns)

    def rows_per_tile(self) -> int:
        return self.source.rows_per_tile()


class Spread(Same[ComputedSource]):
    """Kernels that workers compute for themselves, each for its lanes of a pass.

    Once `stop` is true a pass raises `Stopped`; `seen` is called with how many of its lanes are done, and of how many.
    """

    def __init__(
        self,
        source: ComputedSource,
        stop: Callable[[], bool] | None = None,
        seen: Callable[[int, int], object] | None = None,
    ) -> None:
        super().__init__(source)
        self.stop, self.seen = stop, seen

    def among(self, rows: NDArray[np.intp]) -> KernelSource:
        part = self.source.among(rows)
        return Spread(part, self.stop, self.seen) if is_computed(part) else part

    def together(self, leaves: Sequence[str]) -> list[list[str]]:
        return self.source.together(leaves)

    def in_single(self) -> KernelSource:
        return self.source.in_single()


class Lane(Same[KernelSource]):
    """A source of which a pass reads one lane alone."""

    def __init__(self, source: KernelSource, lane: int) -> None:
        super().__init__(source)
        self.lane = lane


def spread(source: KernelSource) -> KernelSource:
    """The source, its passes sent away where a backend was chosen that takes them and kernels are computed anyway."""
    return Spread(source) if goes_elsewhere() and is_computed(source) else source


def lanes_summed(one_pass: Pass, circuit: Circuit, W: Floats, source: Spread, A: Floats, lanes: int) -> Floats:
    """The sum over lanes of what a pass, a function of a module, makes of each."""
    shared = one_pass, circuit, W, source.source, A
    total, done = np.zeros(0), 0
    for part in in_order(side_by_side(_of_lane, shared, range(lanes), stop=source.stop)):
        total = part if not done else total + part
        done += 1
        if source.seen is not None:
            source.seen(done, lanes)
    if done < lanes:
        raise Stopped
    return total


def _of_lane(shared: tuple[Any, ...], lane: int, place: Place) -> Iterator[tuple[int, Floats]]:
    one_pass, circuit, W, source, A = shared
    yield lane, one_pass(circuit, W, Lane(interruptible(source, place.stop), lane), A)
