"""A training played again on its drawing, in the browser alone: all iterations are sent at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import streamlit as st

from spnmkl.charts.look import thinned
from spnmkl.reporting.endings import percent
from spnmkl.structure import SPN
from spnmkl.training.run import Run
from spnmkl.ui.parts.canvas import node_shares, shown_there, trained_looks
from spnmkl.ui.parts.session import FRONTEND, theme
from spnmkl.wording import counted

MOST_FRAMES = 100
Column = tuple[list[str | int], list[Any]]

_replay = st.components.v2.component(
    "spnmkl_replay",
    html=(FRONTEND / "replay.html").read_text("utf-8"),
    css=(FRONTEND / "replay.css").read_text("utf-8"),
    js=(FRONTEND / "replay.js").read_text("utf-8"),
)


def show_replay(run: Run, canvas: str) -> None:
    """Play, pause and a slider over the iterations, shown on the canvas of that key."""
    if len(run.solution.history) > 1:
        played = replay_data(run, theme(), *shown_there(canvas, run.spn))
        _replay(key=f"{canvas}_replay", data={"canvas": canvas, **played})


@lru_cache(maxsize=4)
def replay_data(run: Run, theme: str, spn: SPN, closed: frozenset[str]) -> dict[str, Any]:
    """What changes on the drawing from iteration to iteration, the result being the last, and what to say of each."""
    solution = run.solution
    shown = thinned(solution.history, MOST_FRAMES - 1)
    looks = [_untitled(trained_looks(spn, closed, r.beta, theme)) for r in shown]
    looks.append(_untitled(trained_looks(spn, closed, solution.beta, theme, shares=node_shares(run))))
    total = len(solution.history)
    words = [
        f"iteration {r.iteration} of {total} · "
        f"{_numbers(r.objective, r.gap, len(r.pruned), r.method)} · {r.seconds:.2g} s"
        for r in shown
    ]
    pruned = sum(b <= 0 for b in solution.beta.values())
    last = shown[-1].objective if solution.by_evidence else solution.objective
    said = _numbers(last, solution.gap, pruned, "evidence" if solution.by_evidence else "")
    words.append(f"result of {counted(total, 'iteration')} · {said}")
    # Not by the run: it is another one once it has scores over folds, which must not end what is played.
    return {"name": f"{run.name} {id(solution)} {theme} {sorted(closed)}", "words": words, "columns": columns(looks)}


def _numbers(objective: float, gap: float, pruned: int, method: str) -> str:
    if method == "evidence":
        return f"log evidence {-objective:.5g} · {pruned} pruned"
    return f"objective {objective:.5g} · gap {percent(gap) if gap < 1 else 'not known'} · {pruned} pruned"


def _untitled(looks: dict[str, Any]) -> dict[str, Any]:
    """Without what stays that of the result: what is told on hover, values that texts show too, the course of lines."""
    kept = {"title", "d", "value"}
    return {
        part: {id: {key: value for key, value in look.items() if key not in kept} for id, look in looks[part].items()}
        for part in ("nodes", "groups", "edges")
    }


def columns(frames: Sequence[Any], path: tuple[str | int, ...] = ()) -> list[Column]:
    """Where the frames differ: the way there, and the value in every frame (None where it has none)."""
    first = frames[0]
    if all(frame == first for frame in frames):
        return []
    if all(isinstance(frame, dict) for frame in frames):
        keys = dict.fromkeys(key for frame in frames for key in frame)
        return [c for key in keys for c in columns([frame.get(key) for frame in frames], (*path, key))]
    if all(isinstance(frame, list) and len(frame) == len(first) for frame in frames):
        return [c for k in range(len(first)) for c in columns([frame[k] for frame in frames], (*path, k))]
    return [(list(path), [round(value, 1) if isinstance(value, float) else value for value in frames])]
