"""Which columns a kernel sees: all, those of a view, or some chosen by hand, offered by search."""

from __future__ import annotations

from typing import Any

import streamlit as st

from spnmkl.data import Dataset

BY_HAND = "chosen columns"
MOST_MATCHES = 200  # columns offered at a time, whatever the table's width
Views = dict[str, list[str]]


def views_of(dataset: Dataset) -> Views:
    return {name: list(columns) for name, columns in dataset.feature_views.items()}


def way_of(features: tuple[int | str, ...] | None, views: Views) -> str:
    """How the columns of a kernel could have been chosen."""
    if features is None:
        return "all columns"
    same = next((name for name, columns in views.items() if tuple(columns) == features), None)
    return f"view {same}" if same else BY_HAND


def chosen_way(way: str, views: Views) -> list[str] | None:
    return None if way == "all columns" else list(views[way.removeprefix("view ")])


def ways_of(views: Views) -> list[str]:
    return ["all columns", *(f"view {name}" for name in views), BY_HAND]


def find_columns(dataset: Dataset, chosen: list[str], arguments: dict[str, Any]) -> None:
    """A field to search, and one to pick from what it found."""
    search = st.text_input("Find columns", key=f"{arguments['key']}_search", placeholder="part of a name")
    matches = [name for name in dataset.features if search.lower() in name.lower()][:MOST_MATCHES]
    st.multiselect("Chosen columns", list(dict.fromkeys([*chosen, *matches])), chosen, **arguments)
