"""What a file of the suite says: certified, units, where they are many, and how it compares with older results."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

Line = dict[str, Any]

SHORT = 0.05  # seconds; shorter times count as this much when versions are compared
SLOWER, MUCH_SLOWER = 1.2, 1.5
GROUPS = ("family", "structure", "p", "C", "table")


def read(path: Path) -> list[Line]:
    """One result per case and tolerance, the last where there are several; a line cut off by a crash is left out."""
    lines: dict[tuple[str, float], Line] = {}
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        lines[line["case"], line["tol"]] = line
    return list(lines.values())


def by_processor(lines: Sequence[Line]) -> list[Line]:
    """The same with processor time for elapsed time, which on a machine that others use is mostly their doing."""
    return [
        line | {"seconds": line["processor"], "unit": line["unit_processor"], "units": line["processor_units"]}
        for line in lines
    ]


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(math.log(value) for value in values) / len(values))


def summary(lines: Sequence[Line]) -> str:
    """Cases, certified, geometric mean, median and worst, as cells."""
    certified = sum(line["certified"] for line in lines)
    values = [line["units"] for line in lines]
    worst = max(lines, key=lambda line: line["units"])
    bound = "≥ " if worst["capped"] else ""
    return (
        f"{len(lines)} | {certified} ({100 * certified / len(lines):.1f} %) | {geometric_mean(values):.1f} | "
        f"{median(values):.1f} | {bound}{worst['units']:.0f}"
    )


def report(lines: Sequence[Line], older: Sequence[Line] | None = None) -> str:
    """The whole report, as Markdown."""
    if not lines:
        return "The file holds no results yet."
    parts = [_about(lines)]
    for tol in sorted({line["tol"] for line in lines}, reverse=True):
        parts.append(_at(tol, [line for line in lines if line["tol"] == tol]))
    parts.append(_failures([line for line in lines if not line["certified"]]))
    if older is not None:
        parts.append(compared(lines, older))
    return "\n".join(parts)


def _about(lines: Sequence[Line]) -> str:
    tables = {line["table"] for line in lines}
    kept = {line["table"] for line in lines if line["held_out"]}
    arithmetic = ", ".join(sorted({line["arithmetic"] for line in lines}))
    spoiled = sum(bool(line.get("not_finite")) for line in lines)
    return (
        f"{len(lines)} results on {len(tables)} tables, {len(kept)} of them kept out of tuning; arithmetic of "
        f"{arithmetic}; {spoiled} trainings with records that are not finite.\n"
    )


def _at(tol: float, lines: Sequence[Line]) -> str:
    parts = [
        f"## tol {tol:g}\n",
        "| cases | how many | certified | geometric mean | median | worst |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    kinds: dict[str, Callable[[Line], bool]] = {
        "all": lambda line: True,
        "tuning": lambda line: not line["held_out"],
        "held out": lambda line: line["held_out"],
    }
    for kind, belongs in kinds.items():
        if some := [line for line in lines if belongs(line)]:
            parts.append(f"| **{kind}** | {summary(some)} |")
    for group in GROUPS:
        for value in sorted({line[group] for line in lines}):
            parts.append(f"| {group} {value} | {summary([e for e in lines if e[group] == value])} |")
    parts.append(f"\nThe ten worst at tol {tol:g}:\n")
    parts += [_told(line) for line in sorted(lines, key=lambda line: -line["units"])[:10]]
    return "\n".join(parts) + "\n"


def _told(line: Line) -> str:
    gap = "none" if line["gap"] is None else f"{line['gap']:.1e}"
    return (
        f"- {line['case']} (n {line['n']}, {line['kernels']} kernels, {line['classes']} classes"
        f"{', held out' if line['held_out'] else ''}): {'≥ ' if line['capped'] else ''}{line['units']:.1f} units, "
        f"{line['seconds']:.2f} s, {line['status']}, gap {gap}"
    )


def _failures(lines: Sequence[Line]) -> str:
    if not lines:
        return "Every case is certified.\n"
    told = [f"{_told(line)}, tol {line['tol']:g}" for line in sorted(lines, key=lambda line: line["case"])]
    return f"## Not certified: {len(lines)}\n\n" + "\n".join(told) + "\n"


def time_ratio(new: Line, old: Line, in_units: bool) -> float:
    """How many times slower; in units, the new time is first brought to the old machine's speed of SVC."""
    scale = old["unit"] / new["unit"] if in_units else 1.0
    return max(new["seconds"] * scale, SHORT) / max(old["seconds"], SHORT)


def compared(lines: Sequence[Line], older: Sequence[Line]) -> str:
    """Of the cases certified before: how many times slower they are now."""
    now = {(line["case"], line["tol"]): line for line in lines}
    both = [(now[key], old) for old in older if (key := (old["case"], old["tol"])) in now]
    kept = [(new, old) for new, old in both if old["certified"]]
    if not kept:
        return "## Against older results\n\nNo case that was certified before is in both files.\n"
    lost = [new for new, _ in kept if not new["certified"]]
    found = sum(new["certified"] for new, old in both if not old["certified"])
    short = f"{1e3 * SHORT:.0f}"
    parts = [
        "## Against older results\n",
        f"{len(both)} results in both files; certified before {len(kept)}, of these now {len(kept) - len(lost)}; "
        f"of {len(both) - len(kept)} not certified before now {found}. "
        f"Time now by time before, below {short} ms counted as {short}, of those certified before:\n",
        f"| ratio of | geometric mean | median | 90 % | 95 % | worst | at most {SLOWER} | above {MUCH_SLOWER} |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for kind, in_units in (("seconds", False), ("units", True)):
        ratios = sorted(time_ratio(new, old, in_units) for new, old in kept)
        parts.append(f"| {kind} | {_distribution(ratios)} |")
    parts.append("\nThe ten that lost most, in units:\n")
    for new, old in sorted(kept, key=lambda pair: -time_ratio(*pair, in_units=True))[:10]:
        parts.append(
            f"- {new['case']}, tol {new['tol']:g}: {time_ratio(new, old, True):.2f} times ({old['seconds']:.3f} → "
            f"{new['seconds']:.3f} s, {old['units']:.1f} → {new['units']:.1f} units)"
        )
    parts += [f"{_told(line)}, no longer certified at tol {line['tol']:g}" for line in lost]
    return "\n".join(parts) + "\n"


def _distribution(ratios: Sequence[float]) -> str:
    within = sum(ratio <= SLOWER for ratio in ratios) / len(ratios)
    beyond = sum(ratio > MUCH_SLOWER for ratio in ratios)
    return (
        f"{geometric_mean(ratios):.2f} | {median(ratios):.2f} | {quantile(ratios, 0.9):.2f} | "
        f"{quantile(ratios, 0.95):.2f} | {ratios[-1]:.2f} | {100 * within:.1f} % | {beyond}"
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share does not exceed."""
    return ordered[max(math.ceil(share * len(ordered) - 1e-9), 1) - 1]
