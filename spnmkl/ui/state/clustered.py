"""The cluster that whoever started the server has set: visitors are told of it, and cannot change it (no Streamlit)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from spnmkl.cluster import VARIABLE, asked_cluster, on_cluster


@contextmanager
def cluster_of_server() -> Iterator[str]:
    """What to say at the start; workers of this machine, if these were asked for, live as long as this."""
    with ExitStack() as stack:
        found = stack.enter_context(on_cluster(asked_cluster()))
        if found is None:
            yield ""
            return
        os.environ[VARIABLE] = found.address  # where the processes of jobs find it
        yield found.sentence


def clustered(job: Any, kept: Any, work: Callable[..., Any], *given: Any) -> Any:
    """A job's work, with its trainings sent to the cluster."""
    with on_cluster(asked_cluster()):
        return work(job, kept, *given)


def cluster_words() -> str:
    """Where trainings of folds run; nothing where that is this machine."""
    asked = asked_cluster()
    return "" if asked is None else f"Folds, comparisons and searches are trained on the cluster {asked}."
