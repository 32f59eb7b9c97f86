"""Arrays whose memory is used again: a system hands out fresh memory about as slowly as kernels are computed."""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.program import Floats


class Memory:
    """Lends arrays of up to so many numbers; any thread may ask, and keep them for as long as it likes."""

    def __init__(self, size: int) -> None:
        self.size, self._free = size, list[Floats]()

    def lend(self, shape: tuple[int, ...], dtype: type[np.floating] = np.float64) -> NDArray[Any]:
        """Of doubles, or of what is smaller."""
        if prod(shape) > self.size:
            return np.empty(shape, dtype)
        try:
            buffer = self._free.pop()
        except IndexError:
            buffer = np.empty(self.size)
        return np.asarray(_Loan(self._free, buffer, shape, dtype))


class _Loan:
    """What an array over lent memory keeps alive, as its views do: with the last of them the memory comes back."""

    def __init__(self, free: list[Floats], buffer: Floats, shape: tuple[int, ...], dtype: type[np.floating]) -> None:
        self._free, self._buffer = free, buffer
        where = buffer.__array_interface__["data"]
        self.__array_interface__ = {"data": where, "shape": shape, "typestr": np.dtype(dtype).str, "version": 3}

    def __del__(self) -> None:
        self._free.append(self._buffer)
