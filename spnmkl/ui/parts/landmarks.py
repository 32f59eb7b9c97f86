"""Training by landmarks: the choice of it, what it does in words, and its offer where the exact way does not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from spnmkl.structure import SPN
from spnmkl.training.settings import Settings
from spnmkl.ui.state.activity import Trainer

WAYS = {"exact": "exact: all rows at once", "nystroem": "all rows by landmarks, for many rows"}
WAYS_HELP = (
    "Exact training holds a matrix of all training rows by all of them, and proves its result for all. By landmarks, "
    "weights are learned and certified on a sample; then an SVM on all rows compares each with some rows of the "
    "sample, the landmarks. How close that comes to the exact result is not certified; rows held out tell how good it "
    "is."
)


def choose_landmarks(settings: Settings, key: Callable[[str], str]) -> dict[str, Any]:
    """Exact, or by how many landmarks and sampled rows."""
    ways = list(WAYS)
    way = st.selectbox(
        "Rows",
        ways,
        ways.index(settings.approximation or "exact"),
        format_func=WAYS.__getitem__,
        key=key("approximation"),
        help=WAYS_HELP,
    )
    if way == "exact":
        return {"approximation": None}
    landmarks = st.number_input(
        "Landmarks",
        1,
        max(20_000, settings.n_components),
        settings.n_components,
        100,
        key=key("n_components"),
        help="Rows that every other is compared with. More follow the exact kernel more closely, in time and memory "
        "that grow with them.",
    )
    sample = st.number_input(
        "Rows of the sample",
        2,
        max(50_000, settings.sample_size),
        settings.sample_size,
        500,
        key=key("sample_size"),
        help="Rows that the weights are learned and certified on, drawn within their classes; never fewer than "
        "landmarks.",
    )
    return {"approximation": way, "n_components": int(landmarks), "sample_size": int(sample)}


def landmark_words(settings: Settings, rows: int) -> str:
    """What a training by landmarks does, what of it is certified and what is estimated."""
    sample = min(rows, settings.sampled_rows or rows)
    return (
        f"By landmarks: weights are learned on a sample of {sample:,} of {rows:,} rows and certified for it; then an "
        f"SVM on all rows compares each with {min(sample, settings.n_components):,} landmarks. Its loss is computed on "
        "all rows, and estimated for unseen ones with an interval; how far it is from exact training is not certified."
    )


def offer_landmarks(trainer: Trainer, spn: SPN, begin: Callable[..., object], *given: Any) -> None:
    """To begin so where the exact way does not fit; landmarks need kernels over columns."""
    if trainer.settings.approximation is not None or any(spn.spec(v).kernel == "precomputed" for v in spn.kernels):
        return

    def start() -> None:
        trainer.take_settings(replace(trainer.settings, approximation="nystroem"))
        begin(*given)

    st.button(
        "Train all rows by landmarks",
        icon=":material/scatter_plot:",
        width="stretch",
        key="by_landmarks",
        disabled=trainer.working is not None,
        on_click=start,
        help=WAYS_HELP,
    )
