"""Processes for work that must not take the server down: forked from one that has the package loaded, and watched.

The server has threads and must not fork; a new Python takes seconds. So one process is started that does nothing but
fork (`forking`); its children do works as they are asked for (`child`) and stay, so that what they have computed is at
hand for the next work. Whoever asked (`worker`) hears what they report, and ends them where they take too much.
"""

from spnmkl.workers.limits import Limits, WorkerError
from spnmkl.workers.nursery import Nursery
from spnmkl.workers.worker import Worker

__all__ = ["Limits", "Nursery", "Worker", "WorkerError"]
