"""What a notebook shows: drawings of structures, and of fitted models below scikit-learn's own diagram."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
import sklearn
from sklearn.base import clone

from spnmkl import SPN, Kernel, Product, SPNMKLClassifier, Sum, templates
from spnmkl.export import to_svg
from spnmkl.notebook import MOST_NODES

SPOTTED = SPN(Sum(Product(Kernel("rbf", label="<b>width</b>")), Product(Kernel("linear"))))


@pytest.fixture(scope="module")
def model() -> SPNMKLClassifier:
    X = np.random.default_rng(0).normal(size=(40, 2))
    return SPNMKLClassifier(SPOTTED, C=10.0).fit(X, X[:, 0] > 0)


def test_a_structure_is_drawn() -> None:
    svg = templates.figure1()._repr_svg_()
    assert svg == to_svg(templates.figure1())
    assert ET.fromstring(svg).tag.endswith("svg")


def test_a_structure_that_is_not_valid_is_drawn_too() -> None:
    assert ET.fromstring(SPN(Sum())._repr_svg_() or "").tag.endswith("svg")


def test_a_structure_too_large_to_be_read_is_told_by_its_counts() -> None:
    assert templates.flat(list(range(MOST_NODES)))._repr_svg_() is None


def test_a_large_structure_is_drawn_with_closed_groups() -> None:
    svg = templates.flat([f"gene {k}" for k in range(300)])._repr_svg_() or ""
    assert "20 × rbf" in svg and "gene 280 … gene 299" in svg


def test_a_fitted_model_shows_its_weights_below_the_diagram(model: SPNMKLClassifier) -> None:
    html = model._repr_html_()
    figure = model.solution_._repr_html_()
    for shown in (html, model._repr_mimebundle_()["text/html"]):
        assert "sk-top-container" in shown
        assert shown.endswith(figure)
    assert to_svg(model.spn_, beta=model.beta_) in html
    assert "certified optimal" in html
    assert "<b>width" not in html


def test_a_model_that_is_not_fitted_shows_the_diagram_alone(model: SPNMKLClassifier) -> None:
    assert "<figure" not in clone(model)._repr_html_()


def test_text_is_shown_where_scikit_learn_is_told_to(model: SPNMKLClassifier) -> None:
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert list(model._repr_mimebundle_()) == ["text/plain"]


def test_a_large_solution_keeps_its_sentence() -> None:
    X = np.random.default_rng(0).normal(size=(20, MOST_NODES))
    model = SPNMKLClassifier(templates.flat(list(range(MOST_NODES))), C=10.0).fit(X, X[:, 0] > 0)
    assert "<svg" not in model.solution_._repr_html_()
    assert "certified optimal" in model.solution_._repr_html_()
