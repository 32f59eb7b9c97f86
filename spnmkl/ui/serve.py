"""The app's server: Streamlit, with the compiled functions loaded before the first click."""

from __future__ import annotations

import gc
import logging
import sys
import threading
from functools import cache

from streamlit.runtime.pages_manager import PagesManager
from streamlit.web import cli

from spnmkl.errors import SPNMKLError
from spnmkl.precompile import prepare
from spnmkl.ui.state.apart import NURSERY
from spnmkl.ui.state.clustered import cluster_of_server
from spnmkl.workspace.quotas import Quotas


@cache
def warm_up() -> None:
    """Compile or load every compiled function in the background, once per server."""
    threading.Thread(target=_prepare, name="warm-up", daemon=True).start()


def _prepare() -> None:
    try:
        prepare()
        # Streamlit collects garbage after every run of a page, and would look at all of the libraries each time.
        gc.collect()
        gc.freeze()
    except RuntimeError:
        pass  # the server ended meanwhile
    except Exception:
        logging.getLogger("spnmkl").exception("Warming up failed")


if __name__ == "__main__":
    try:
        Quotas.chosen()
    except SPNMKLError as error:
        sys.exit(f"spnmkl: {error}")
    # Streamlit takes a folder called pages for its own kind of pages until st.navigation was called once, so that a
    # first visit to /data would miss the app around the page.
    PagesManager.uses_pages_directory = False
    try:
        with cluster_of_server() as said:
            if said:
                print(said, flush=True)
            warm_up()
            NURSERY.start()
            sys.argv = ["streamlit", "run", *sys.argv[1:]]
            sys.exit(cli.main())
    except SPNMKLError as error:
        sys.exit(f"spnmkl: {error}")
