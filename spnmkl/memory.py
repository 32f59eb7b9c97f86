"""How much memory there is."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

_KERNEL_SHARE = 0.5  # of what is free: as much is left to the solver, whose own part is up to three n×n matrices


def kernel_bytes(gigabytes: float | None) -> float:
    """Bytes that kernel matrices may take: as given or, for None, half of what is free (no limit where unknown)."""
    if gigabytes is not None:
        return 1e9 * gigabytes
    free = available_memory()
    return math.inf if free is None else kernel_share(free)


def kernel_share(free: float) -> float:
    """Of so many bytes that are free, those that kernel matrices may take."""
    return _KERNEL_SHARE * free


def double_bytes(n: int, rows: int | None = None) -> int:
    """Of K(β) over n samples, and a factor of it on some rows, or on all, in double precision."""
    return 8 * (n**2 + (n if rows is None else rows) ** 2)


def single_bytes(n: int) -> int:
    """Of K(β) over n samples in single precision; a factor of it lies under its own diagonal."""
    return 4 * n**2


def available_memory(root: str | os.PathLike[str] = "/") -> int | None:
    """Bytes that this process may still use, by the machine and by its control groups; None where unknown."""
    base = Path(root)
    rooms = [*_machine_room(base), *_group_rooms(base)]
    return max(0, min(rooms)) if rooms else None


def _machine_room(root: Path) -> Iterator[int]:
    for line in _read(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024


def _group_rooms(root: Path) -> Iterator[int]:
    """What each control group above this process leaves, cached files not counted as used (versions 1 and 2)."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            mount, names = root / "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            mount = root / "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        own = Path(path.lstrip("/"))
        for group in (own, *own.parents):
            yield from _room(mount / group, *names)


def _room(group: Path, limit: str, usage: str, cached: str) -> Iterator[int]:
    most, used = _read(group / limit).strip(), _read(group / usage).strip()
    if most.isdecimal() and used.isdecimal():
        stat = dict(line.split() for line in _read(group / "memory.stat").splitlines())
        yield int(most) - int(used) + int(stat.get(cached, 0))


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
