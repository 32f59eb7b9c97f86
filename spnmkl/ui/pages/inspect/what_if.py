"""What if a weight were another: accuracy and objective against the optimum."""

from __future__ import annotations

import math
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from spnmkl.reporting.glossary import explained
from spnmkl.reporting.what_if import what_if
from spnmkl.training.run import Run
from spnmkl.training.scores import Scores
from spnmkl.ui.pages.inspect.inspected import Inspected, share_text, tell_missing_data, weight_titles
from spnmkl.ui.parts.canvas import show_trained
from spnmkl.ui.parts.words import plain
from spnmkl.wording import counted

REACH, TYPED_REACH = 3.0, 1000.0  # times the largest weight
SLIDER, TYPED = "what_if_slider", "what_if_typed"


def what_if_tab(seen: Inspected) -> None:
    run = seen.run
    if not seen.has_data:
        tell_missing_data(run, "What other weights would do")
        return
    left, right = st.columns([2, 3], gap="large")
    with left:
        move_weight(run)
        compare(seen, moved_weights(run))
    with right:
        show_trained("inspect_what_if", run.spn, run.solution.beta | moved_weights(run))


def moved_weights(run: Run) -> dict[str, float]:
    """The weights of a run that were set by hand; they stay so when the page is left."""
    kept: WeakKeyDictionary[Run, dict[str, float]] = st.session_state.setdefault("what_if_moved", WeakKeyDictionary())
    return kept.setdefault(run, {})


def move_weight(run: Run) -> None:
    """Choose one weight and set it, by hand or by number."""
    moved, learned, titles = moved_weights(run), run.solution.beta, weight_titles(run.spn)
    for v in set(moved) - set(learned):
        del moved[v]
    heaviest = sorted(learned, key=lambda v: -learned[v])
    product = st.selectbox("Weight", heaviest, format_func=titles.__getitem__, key=f"what_if_weight_{run.name}")

    def take(widget: str) -> None:
        moved[product] = float(st.session_state[widget])

    largest = max(learned.values(), default=0.0) or 1.0
    value = min(moved.get(product, learned[product]), TYPED_REACH * largest)
    st.session_state[SLIDER], st.session_state[TYPED] = min(value, REACH * largest), value
    slider, typed = st.columns([5, 3], vertical_alignment="bottom")
    slider.slider(
        "β",
        0.0,
        REACH * largest,
        step=largest / 100,
        format="%.3g",
        key=SLIDER,
        on_change=take,
        args=(SLIDER,),
        help=explained("β"),
    )
    typed.number_input(
        "β typed",
        0.0,
        TYPED_REACH * largest,
        step=largest / 10,
        format="%.4f",
        key=TYPED,
        on_change=take,
        args=(TYPED,),
        label_visibility="collapsed",
    )
    st.button("Back to the learned weights", on_click=moved.clear, disabled=not moved, icon=":material/undo:")


def compare(seen: Inspected, moved: dict[str, float]) -> None:
    """What the moved weights give, beside what was learned."""
    run = seen.run
    key = "what if", tuple(sorted(moved.items()))
    solution, test, train = seen.once(key, lambda prepared: what_if(run, prepared, dict(moved)))
    learned = (run.test_scores, run.train_scores)
    if run.approximated is not None:
        learned = seen.once(("what if", ()), lambda prepared: what_if(run, prepared, {}))[1:]
        st.caption("On the sample alone: its own SVM, and not the one of all rows.")
    optimum = run.solution.objective
    rise = solution.objective / optimum - 1 if optimum > 0 else 0.0
    same = abs(rise) <= run.solution.gap < math.inf
    looks: dict[str, Any] = {"delta_color": "off", "delta_arrow": "off"} if same else {"delta_color": "inverse"}
    words = "the same, within the proven gap" if same else f"{100 * rise:+{'.2f' if abs(rise) >= 1e-4 else '.1g'}} %"
    places = iter(st.columns(3))
    if not run.solution.by_evidence:  # which do not minimise it: where it falls they are no worse
        next(places).metric(
            "Objective",
            f"{solution.objective:.5g}",
            words if moved else None,
            **looks,
            help=explained("objective"),
        )
    _accuracy(next(places), "Test accuracy", test, learned[0], bool(moved))
    _accuracy(next(places), "Training accuracy", train, learned[1], bool(moved))
    if not moved:
        st.caption("These are the learned weights. Move one: the SVM is solved anew and compared with theirs.")
        return
    name = run.spn.names
    changes = [f"{name[v]} from {run.solution.beta[v]:.4g} to {beta:.4g}" for v, beta in moved.items()]
    better = " A better test score does not make the learned weights wrong: it was found by looking at the test rows."
    st.caption(
        f"{counted(len(moved), 'weight')} moved: {plain(', '.join(changes))}. The SVM is solved anew at these weights; "
        f"arrows compare with what training found.{better * (test.accuracy > learned[0].accuracy)}"
    )


def _accuracy(place: DeltaGenerator, title: str, new: Scores, old: Scores, compared: bool) -> None:
    """An accuracy, with its change in percentage points."""
    change = 100 * (new.accuracy - old.accuracy)
    words = f"{change:+.1f} points" if change else "the same"
    looks: dict[str, Any] = {} if change else {"delta_color": "off", "delta_arrow": "off"}
    place.metric(title, share_text(new.accuracy), words if compared and old.scored else None, **looks)
