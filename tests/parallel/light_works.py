"""Works that need next to nothing of the library, so that a worker process has them soon."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from spnmkl.threads import default_threads

if TYPE_CHECKING:
    from spnmkl.parallel import Place


def where(shared: bytes, item: int, place: Place) -> Iterator[tuple[int, int, int]]:
    yield item, os.getpid(), len(shared) + default_threads()
    time.sleep(0.3)


def until_stopped(begun: str, item: int, place: Place) -> Iterator[int]:
    """Says that it has begun by a file."""
    Path(begun, str(item)).touch()
    yield item
    while not place.stop():
        time.sleep(0.05)
    yield -item
