"""Settings are plain values: compared, stored, and refused in one sentence."""

import inspect
import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from spnmkl import ParameterError, SPNMKLClassifier, solve
from spnmkl.solvers import SOLVERS
from spnmkl.training.settings import Settings

VARIED = [
    Settings(),
    Settings(C=10, lam=0.5, p=2, solver="paper", tol=1e-2, max_iter=7, max_time=60, class_weight="balanced"),
    Settings(scoring="roc_auc"),
    Settings(p="sparse", class_weight={"yes": 2.0, "no": 1}),
    Settings(p={"p1": 1.5, "p2": 1}, class_weight={0: 2.0, 1: 0.5}),
]


@pytest.mark.parametrize("settings", VARIED)
def test_settings_pass_through_json(settings: Settings) -> None:
    again = Settings.from_dict(json.loads(json.dumps(settings.to_dict())))
    assert again == settings
    assert hash(again) == hash(settings)


def test_different_settings_differ() -> None:
    assert len(set(VARIED)) == len(VARIED)


def test_what_is_given_later_to_a_mapping_changes_nothing() -> None:
    given = {"p1": 1.0}
    settings = Settings(p=given)
    given["p1"] = 2.0
    assert settings.p == {"p1": 1.0}


def test_numbers_of_numpy_become_plain() -> None:
    settings = Settings(C=np.float64(2), max_iter=np.int64(3), class_weight={np.int64(1): np.float32(2)})
    assert json.dumps(settings.to_dict())
    assert settings == Settings(C=2.0, max_iter=3, class_weight={1: 2.0})


def test_the_options_are_those_of_solve_and_of_the_classifier() -> None:
    options = Settings().solver_options()
    accepted = inspect.signature(solve).parameters
    for name, value in options.items():
        assert value == accepted[name].default
        assert value == SPNMKLClassifier().get_params()[name] or name == "C", "which is chosen without a structure"
    sampling = {"approximation": None, "n_components": 1000, "sample_size": 4000}
    assert options.keys() == {field.name for field in fields(Settings)} - {"scoring", "weights", *sampling}, (
        "which choose C, the method, and its rows"
    )
    assert Settings().model_options() == options | sampling | {"weights": "certified"}
    assert {name: SPNMKLClassifier().get_params()[name] for name in sampling} == sampling


BAD: dict[str, tuple[Any, str]] = {
    "no mapping": ([1, 2], "Settings must be a mapping from name to value, but found a value of type list."),
    "an unknown name": (
        {"gamma": 1},
        "There is no setting 'gamma' (text); the settings are C, approximation, class_weight, lam, max_iter, max_time, "
        "n_components, p, sample_size, scoring, solver, tol, weights.",
    ),
    "text as C": ({"C": "1"}, "C must be a finite number above 0, but it is '1' (text); choose for example 1.0."),
    "true as C": ({"C": True}, "C must be a finite number above 0, but it is True (bool); choose for example 1.0."),
    "NaN as lam": (
        {"lam": float("nan")},
        "lam must be a finite number above 0, but it is nan (float); choose for example 1.0.",
    ),
    "a huge whole number": (
        {"C": 10**400},
        "C must be a finite number above 0, but it is a value of type int; choose for example 1.0.",
    ),
    "tol of 1": (
        {"tol": 1},
        "tol must be a number between 0 and 1, but it is 1 (int); choose for example 1e-3.",
    ),
    "an unknown solver": (
        {"solver": "magic"},
        f"solver must be one of {sorted(SOLVERS)}, but it is 'magic' (text).",
    ),
    "a list as solver": ({"solver": []}, f"solver must be one of {sorted(SOLVERS)}, but it is a value of type list."),
    "no time": (
        {"max_time": 0},
        "max_time must be a finite number of seconds above 0, or None, but it is 0 (int).",
    ),
    "time as text": (
        {"max_time": "1 h"},
        "max_time must be a finite number of seconds above 0, or None, but it is '1 h' (text).",
    ),
    "no iteration": (
        {"max_iter": 0},
        "max_iter must be a whole number of at least 1, or None, but it is 0 (int).",
    ),
    "half an iteration": (
        {"max_iter": 0.5},
        "max_iter must be a whole number of at least 1, or None, but it is 0.5 (float).",
    ),
    "an unknown p": (
        {"p": "dense"},
        "p must be a number above 0, a mapping, 'sparse' or None, but it is 'dense' (text).",
    ),
    "a negative p": ({"p": -1}, "p must be a finite number above 0, but it is -1 (int); choose for example 1.0."),
    "p of nothing": (
        {"p": {"p1": None}},
        "p of product 'p1' must be a finite number above 0, but it is nothing; choose for example 1.0.",
    ),
    "an unknown class_weight": (
        {"class_weight": "fair"},
        "class_weight must be 'balanced', a mapping from class to weight, or None, but it is 'fair' (text).",
    ),
    "an unknown score": (
        {"scoring": "f1"},
        "scoring must be one of 'accuracy', 'balanced_accuracy', 'roc_auc', but it is 'f1'.",
    ),
    "class_weight of three": (
        {"class_weight": [["a", 1.0, 2.0]]},
        "class_weight must be stored as pairs of a class and its weight; save the settings again.",
    ),
    "a list as a class": (
        {"class_weight": [[["a"], 1.0]]},
        "class_weight must name classes by text or number, but it names a value of type list.",
    ),
    "a negative weight": (
        {"class_weight": {"a": -1}},
        "The weight of class 'a' must be a finite number of at least 0, but it is -1 (int).",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_was_not_written_by_us_is_refused(name: str) -> None:
    data, sentence = BAD[name]
    with pytest.raises(ParameterError) as refused:
        Settings.from_dict(data)
    assert str(refused.value) == sentence
