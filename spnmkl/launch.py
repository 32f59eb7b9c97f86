"""Starts the app from a checkout or from an installed wheel, in any folder."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from spnmkl.errors import SPNMKLError

PACKAGE = Path(__file__).parent


def carried(name: str) -> Path:
    """A file or folder that stands beside the package in a checkout, and inside of it in a wheel."""
    for place in (PACKAGE / "_app" / name, PACKAGE.parent / name):
        if place.exists():
            return place
    raise SPNMKLError(f"{name} is missing from this installation; install spnmkl again.")


def run_app(options: Sequence[str] = ()) -> int:
    """`streamlit run` on the carried app, with Streamlit's own options passed on; returns its exit code."""
    if importlib.util.find_spec("streamlit") is None:
        raise SPNMKLError("The app needs Streamlit, which is not installed; run: pip install 'spnmkl[app]'.")
    app = carried("app.py")
    command = [sys.executable, "-m", "streamlit", "run", str(app), *options]
    os.chdir(app.parent)  # where Streamlit reads .streamlit/config.toml
    if os.name == "posix":
        os.execv(sys.executable, command)  # one process: whoever ends it ends the server
    return subprocess.run(command, check=False).returncode


def warm_up() -> None:
    """Compile the hot loops, or load them from the cache, on a problem of a few samples."""
    import numpy as np

    from spnmkl.solvers import solve
    from spnmkl.structure import SPN, Kernel, Product, Sum

    X = np.random.default_rng(0).normal(size=(12, 2))
    K = X @ X.T + np.eye(12)
    leaf = [Kernel("precomputed", id=f"k{i}") for i in range(5)]
    three = Product(
        *(Sum(Product(a), Product(b)) for a, b in ((leaf[0], leaf[1]), (leaf[1], leaf[2]), (leaf[2], leaf[3])))
    )
    spn = SPN(Sum(three, Product(leaf[4])))
    solution = solve(spn, dict.fromkeys(spn.kernels, K), np.arange(12) % 2, C=10.0, n_threads=1)
    solution.decision_function(dict.fromkeys(spn.kernels, K))
