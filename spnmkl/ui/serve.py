"""The app's server: Streamlit, with the compiled functions loaded before the first click."""

from __future__ import annotations

import logging
import sys
import threading
from functools import cache

import numpy as np
from streamlit.runtime.pages_manager import PagesManager
from streamlit.web import cli

from spnmkl.solvers import solve
from spnmkl.structure import templates


@cache
def warm_up() -> None:
    """Compile or load every compiled function in the background, once per server, by a training on a few rows."""
    threading.Thread(target=_train_a_little, name="warm-up", daemon=True).start()


def _train_a_little() -> None:
    rng = np.random.default_rng(0)
    spn = templates.figure1()
    X = {leaf: rng.normal(size=(24, 2)) for leaf in spn.kernels}
    kernels = {leaf: np.exp(-((x[:, None] - x[None]) ** 2).sum(axis=2)) for leaf, x in X.items()}
    try:
        for y in (np.arange(24) % 2, np.arange(24) % 3):
            solution = solve(spn, kernels, y, C=10.0)
            solution.decision_function(kernels)
            solution.certify(kernels)
    except RuntimeError:
        pass  # the server ended meanwhile
    except Exception:
        logging.getLogger("spnmkl").exception("Warming up failed")


if __name__ == "__main__":
    # Streamlit takes a folder called pages for its own kind of pages until st.navigation was called once, so that a
    # first visit to /data would miss the app around the page.
    PagesManager.uses_pages_directory = False
    warm_up()
    sys.argv = ["streamlit", "run", *sys.argv[1:]]
    sys.exit(cli.main())
