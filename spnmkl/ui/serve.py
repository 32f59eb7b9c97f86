"""The app's server: Streamlit, with the compiled functions loaded before the first click."""

from __future__ import annotations

import gc
import logging
import signal
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

_ENDING = (signal.SIGTERM, signal.SIGINT)


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


def _stop(*_: object) -> None:
    _ignore_signals()
    sys.exit()


def _ignore_signals() -> None:
    """Who asks again, as by pressing Ctrl-C twice, would end what is being written."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)


def _end() -> None:
    """Write what tabs have not got on disk yet, and let the other servers know that this one is gone."""
    _ignore_signals()
    session = sys.modules.get("spnmkl.ui.parts.session")  # not there, or not whole, where nobody came
    if session is not None and hasattr(session, "keeper"):
        try:
            session.keeper().close()
        except SPNMKLError as error:
            logging.getLogger("spnmkl").error("Work is not saved: %s", error)


if __name__ == "__main__":
    # So that it comes to the end of this file, also where Streamlit raises the signal again once it has stopped itself.
    for ending in _ENDING:
        signal.signal(ending, _stop)
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
            try:
                sys.exit(cli.main())
            finally:
                _end()
    except SPNMKLError as error:
        sys.exit(f"spnmkl: {error}")
