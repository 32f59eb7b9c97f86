"""The settings of a training: one slider for everybody, the rest for who wants it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from spnmkl.errors import ParameterError
from spnmkl.measures import SCORINGS, are_uneven
from spnmkl.parameters import Power
from spnmkl.reporting.endings import SOLVER_NAMES
from spnmkl.reporting.glossary import explained
from spnmkl.solvers import SOLVERS as METHODS
from spnmkl.structure import SPN
from spnmkl.structure.paths import product_layers
from spnmkl.training.settings import Settings
from spnmkl.ui.parts.landmarks import choose_landmarks
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.activity import Trainer
from spnmkl.wording import quoted

STEPS_OF_C = tuple(float(f"{10 ** (k / 4):.2g}") for k in range(-12, 17))
POWERS = {
    "drawn": "as drawn",
    "one": "one for all",
    "layer": "one per layer",
    "product": "one per product",
    "sparse": "sparse: the smallest exponents",
}
SOLVERS = {
    **{solver: SOLVER_NAMES[solver] for solver in METHODS},
    "paper": f"{SOLVER_NAMES['paper']} of the paper (slow, for teaching)",
}
WEIGHTS = {"certified": "certified: provably the best", "evidence": "evidence weights, not certified"}
_COUNTER = " set elsewhere"
CLASS_WEIGHTS = {"equal": "all samples alike", "balanced": "balanced: rare classes count more", "own": "by hand"}


def fitting(settings: Settings, spn: SPN, classes: NDArray) -> Settings:
    """Without exponents of products, or weights of classes, that are no longer there."""
    if isinstance(settings.p, Mapping) and settings.p.keys() != set(spn.products):
        settings = replace(settings, p=None)
    if isinstance(settings.class_weight, Mapping) and settings.class_weight.keys() != set(classes.tolist()):
        settings = replace(settings, class_weight=None)
    return settings


def slider_of_C(trainer: Trainer, smallest: float | None, otherwise: str) -> None:
    """The one slider. C_min is marked where there is one and it is known; else it is said why not."""
    key = _key_of_C("C", trainer)
    st.select_slider(
        "C: how much an error costs",
        sorted({*STEPS_OF_C, trainer.settings.C}),
        trainer.settings.C,
        format_func=lambda value: f"{value:.3g}" + (" (all weights zero)" if smallest and value <= smallest else ""),
        key=key,
        on_change=_take_shown_C,
        args=("C", key, trainer),
        help=f"{explained('C', 'C_min')}\n\n*Choose C* finds a good one.",
    )
    times = f" This C is {trainer.settings.C / smallest:.3g} × C_min." if smallest else ""
    if smallest == np.inf:
        st.caption("No C is useful: the kernels tell no classes apart, so every weight is zero at any of them.")
    elif smallest is not None:
        st.caption(f"Useful above C_min = {smallest:.3g}: at or below it every weight is zero.{times}")
    else:
        st.caption(otherwise)


def _key_of_C(name: str, trainer: Trainer) -> str:
    """A new key wherever C was set elsewhere, so that the widget begins anew at its `value`.

    Its session state is never written: a page that is drawn anew at once forgets what it had to tell the browser, which
    would then show, and send back, the widget's smallest value.
    """
    counter = f"{name}{_COUNTER}"
    count = st.session_state.setdefault(counter, 0)
    if st.session_state.get(f"{name} {count}", trainer.settings.C) != trainer.settings.C:
        st.session_state[counter] = count = count + 1
    return f"{name} {count}"


def _take_shown_C(name: str, key: str, trainer: Trainer) -> None:
    """C from the widget that is shown now.

    What the browser sent before it knew of a new one still tells of the widget before, as if that had been moved.
    """
    if key == f"{name} {st.session_state[f'{name}{_COUNTER}']}":
        take_C(trainer, st.session_state[key])


def take_C(trainer: Trainer, C: float) -> None:
    trainer.settings = replace(trainer.settings, C=C)


def _key(trainer: Trainer, name: str) -> str:
    """Of a widget that shows a setting: another one once settings came from elsewhere, since it would undo them."""
    return f"{name}_{trainer.settings_version}" if trainer.settings_version else name


def more_settings(trainer: Trainer, spn: SPN, classes: NDArray, chooses: bool = False) -> None:
    """All of them; those that a training chooses by itself are not shown where it does."""
    settings = trainer.settings
    weights, lam, p, solver = (settings.weights, settings.lam, settings.p, settings.solver)
    if not chooses:
        weights, lam, p, solver = _weighing(trainer, spn)
    tol = st.select_slider(
        "Gap to prove" if weights == "certified" else "Gap of the SVM",
        sorted({1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, settings.tol}, reverse=True),
        settings.tol,
        format_func=lambda t: f"{100 * t:.4g} %",
        key=_key(trainer, "tol"),
        help=f"Training ends when the objective is proved to be within this of the optimum.\n\n{explained('gap')}",
    )
    limited = st.checkbox("Limit the iterations", settings.max_iter is not None, key=_key(trainer, "limited"))
    most = (
        st.number_input("At most", 1, 100_000, settings.max_iter or 100, key=_key(trainer, "max_iter"))
        if limited
        else None
    )
    by_landmarks = choose_landmarks(settings, partial(_key, trainer))
    in_time = st.checkbox("Limit the time", settings.max_time is not None, key=_key(trainer, "timed"))
    seconds = _most_time(trainer) if in_time else None
    _change(
        trainer,
        weights=weights,
        lam=lam,
        p=p,
        solver=solver,
        tol=tol,
        max_iter=most,
        max_time=seconds,
        class_weight=_class_weights(trainer, classes),
        scoring=_scoring(trainer),
        **by_landmarks,
    )


def _weighing(trainer: Trainer, spn: SPN) -> tuple[str, float, Power, str]:
    """C, exactly; and the kind of weights with what belongs to it."""
    settings = trainer.settings
    key = _key_of_C("exact_C", trainer)
    st.number_input(
        "C, exactly",
        min(1e-6, settings.C),
        max(1e9, settings.C),
        settings.C,
        format="%.6g",
        key=key,
        on_change=_take_shown_C,
        args=("exact_C", key, trainer),
        help=explained("C"),
    )
    weights = st.selectbox(
        "Weights",
        list(WEIGHTS),
        list(WEIGHTS).index(settings.weights),
        format_func=WEIGHTS.__getitem__,
        key=_key(trainer, "weights"),
        help="Certified weights are provably the best for the drawing and C. They cannot tell a sum from a product "
        "over the same columns, nor wide kernels from narrow ones; evidence weights can, but are not certified. With "
        f"them λ, p and the solver mean nothing, and are not shown.\n\n{explained('evidence')}",
    )
    if weights == "certified":
        return weights, *_certified(trainer, spn)
    return weights, settings.lam, settings.p, settings.solver


def _certified(trainer: Trainer, spn: SPN) -> tuple[float, Power, str]:
    """λ, p and the solver, which mean something for certified weights alone."""
    settings = trainer.settings
    lam = st.number_input(
        "λ",
        min(1e-9, settings.lam),
        max(1e9, settings.lam),
        settings.lam,
        format="%.6g",
        key=_key(trainer, "lam"),
        help=explained("λ"),
    )
    p = _powers(trainer, spn)
    solver = st.selectbox(
        "Solver",
        list(SOLVERS),
        list(SOLVERS).index(settings.solver),
        format_func=SOLVERS.__getitem__,
        key=_key(trainer, "solver"),
        help="Automatic: second order while that is fast, then path following, which is at its best where kernels see "
        "single columns, categories or counts. Path following alone needs every p to be at least 1.",
    )
    return lam, p, solver


def _scoring(trainer: Trainer) -> str:
    return st.selectbox(
        "Score that counts",
        list(SCORINGS),
        list(SCORINGS).index(trainer.settings.scoring),
        format_func=lambda name: SCORINGS[name].title,
        key=_key(trainer, "scoring"),
        help="What *Choose C* looks for, and the score that is shown first. Accuracy: the share of rows answered "
        "rightly. Balanced accuracy: the mean of that share over the classes, so that a rare class counts as much as "
        "a frequent one. Area under the ROC curve: how well rows are ordered, whatever the threshold.",
    )


def suggest_scoring(trainer: Trainer, classes: NDArray, rows: NDArray) -> None:
    """Where classes are uneven and accuracy is what counts: why another score would tell more."""
    if trainer.settings.scoring != "accuracy" or not are_uneven(rows):
        return
    most = rows.argmax()
    often = f"{plain(quoted(str(classes[most])[:24]))}, {100 * rows[most] / rows.sum():.0f} % of the rows"
    st.caption(
        f"The classes are uneven: always answering {often}, would look good. Balanced accuracy counts every class "
        "alike."
    )
    st.button(
        "Let balanced accuracy count",
        icon=":material/balance:",
        width="stretch",
        on_click=lambda: trainer.take_settings(replace(trainer.settings, scoring="balanced_accuracy")),
    )


def _most_time(trainer: Trainer) -> float:
    now = trainer.settings.max_time or 60.0
    return st.number_input(
        "Seconds",
        min(0.1, now),
        max(1e6, now),
        now,
        1.0,
        format="%.6g",
        key=_key(trainer, "max_time"),
        help="Then the best weights so far are kept, and how far the optimum can be. *Choose C* and *β against C* end "
        "after this time too, with what they have.",
    )


def _powers(trainer: Trainer, spn: SPN) -> Power:
    """p as the drawing says, or otherwise."""
    settings = trainer.settings
    now = _way(trainer)
    way = st.selectbox(
        "p, the exponents of β",
        list(POWERS),
        list(POWERS).index(now),
        format_func=POWERS.__getitem__,
        key=_key(trainer, "p_way"),
        help=explained("p"),
    )
    given: Mapping[str, float] = settings.p if isinstance(settings.p, Mapping) else {}
    drawn = {v: given.get(v, spn.p(v)) for v in spn.products}
    if way == "one":
        value = settings.p if isinstance(settings.p, float) else 1.0
        return st.number_input("p", min(0.01, value), max(100.0, value), value, 0.25, key=_key(trainer, "p_all"))
    if way == "layer":
        layers = product_layers(spn)
        first = {layer: next(drawn[v] for v in drawn if layers[v] == layer) for layer in sorted(set(layers.values()))}
        chosen = {layer: _power_of_layer(trainer, layer, value) for layer, value in first.items()}
        return {v: chosen[layers[v]] for v in drawn}
    if way == "product":
        table = pd.DataFrame({"weight": [spn.names[v] for v in drawn], "p": list(drawn.values())}, index=list(drawn))
        edited = st.data_editor(
            table,
            hide_index=True,
            disabled=["weight"],
            key=_key(trainer, "p_table"),
            column_config={"p": st.column_config.NumberColumn(min_value=1e-6, required=True)},
        )
        return {v: float(value) for v, value in edited["p"].items()}
    return "sparse" if way == "sparse" else None


def _power_of_layer(trainer: Trainer, layer: int, value: float) -> float:
    name = f"p of layer {layer}"
    return st.number_input(
        name, min(0.01, value), max(100.0, value), value, 0.25, key=_key(trainer, f"p_layer_{layer}")
    )


def _way(trainer: Trainer) -> str:
    p = trainer.settings.p
    if p is None or p == "sparse":
        return p or "drawn"
    if isinstance(p, Mapping):
        return st.session_state.get(_key(trainer, "p_way"), "product")
    return "one"


def _class_weights(trainer: Trainer, classes: NDArray) -> Mapping[Any, float] | str | None:
    now = trainer.settings.class_weight
    way = st.selectbox(
        "Classes",
        list(CLASS_WEIGHTS),
        list(CLASS_WEIGHTS).index("equal" if now is None else "balanced" if now == "balanced" else "own"),
        format_func=CLASS_WEIGHTS.__getitem__,
        key=_key(trainer, "class_way"),
    )
    if way != "own":
        return None if way == "equal" else "balanced"
    known = now if isinstance(now, Mapping) else {}
    labels = [label.item() if isinstance(label, np.generic) else label for label in classes]
    edited = st.data_editor(
        pd.DataFrame({"class": [str(label) for label in labels], "weight": [known.get(c, 1.0) for c in labels]}),
        hide_index=True,
        disabled=["class"],
        key=_key(trainer, "class_table"),
        column_config={"weight": st.column_config.NumberColumn(min_value=0.0, required=True)},
    )
    return dict(zip(labels, edited["weight"].astype(float), strict=True))


def _change(trainer: Trainer, **values: Any) -> None:
    """Take what the widgets say; the page is drawn anew where that is something else."""
    try:
        changed = replace(trainer.settings, **values)
    except ParameterError as error:
        st.error(plain(error))
        return
    if changed != trainer.settings:
        trainer.settings = changed
        st.rerun()
