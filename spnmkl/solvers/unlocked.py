"""Cholesky factors without Python's global lock, which SciPy's own wrappers of LAPACK hold while they work.

Trainings on several threads, such as those of folds, would wait for one another there.
"""

from __future__ import annotations

from ctypes import CFUNCTYPE, byref, c_char_p, c_int, c_void_p

import numpy as np
from numba.extending import get_cython_function_address
from numpy.typing import NDArray

_POTRF = CFUNCTYPE(None, c_char_p, c_void_p, c_void_p, c_void_p, c_void_p)  # uplo, n, A, its leading dimension, info
_potrf = {
    np.dtype(kind): _POTRF(get_cython_function_address("scipy.linalg.cython_lapack", name))
    for kind, name in ((np.float64, "dpotrf"), (np.float32, "spotrf"))
}


def potrf(A: NDArray[np.floating]) -> bool:
    """Replace the lower triangle of A (Fortran order) by its Cholesky factor; whether there is one."""
    if not (A.flags.f_contiguous and A.flags.writeable and A.shape[0] == A.shape[1]):
        raise ValueError("A must be a square matrix in Fortran order that may be written.")
    n, leading, info = c_int(len(A)), c_int(max(1, len(A))), c_int()
    _potrf[A.dtype](b"L", byref(n), A.ctypes.data, byref(leading), byref(info))
    return info.value == 0
