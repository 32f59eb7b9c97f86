import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnmkl.export import kernel_text
from spnmkl.structure import SPN, Kernel, KernelSpec, Product, Sum
from spnmkl.structure import templates as t
from spnmkl.structure.text import node_text, shortened


@pytest.mark.parametrize(
    ("spec", "label", "text"),
    [
        (KernelSpec("rbf"), None, "rbf"),
        (KernelSpec("rbf", {"gamma": 0.1}), "texture", "rbf γ=0.1 · texture"),
        (KernelSpec("rbf", {"gamma": "scale"}, ["height"]), None, "rbf γ=scale · height"),
        (KernelSpec("rbf", {"gamma": 1 / 3}, [4]), None, "rbf γ=0.3333 · column 4"),
        (KernelSpec("linear", features=["a", "b", "c"]), None, "linear · 3 columns"),
        (KernelSpec("linear", features=["a", "b", "c"]), "shape", "linear · shape"),
        (KernelSpec("linear", features=range(20_000)), None, "linear · 20,000 columns"),
        (KernelSpec("linear", features=[]), None, "linear · no column"),
        (KernelSpec("polynomial", {"degree": 3, "coef0": 1.0, "gamma": 2}), None, "polynomial c=1 d=3 γ=2"),
        (KernelSpec("mine", {"words": ["a", 2], "on": True}), None, "mine on=True words=[a, 2]"),
        (KernelSpec("rbf", {"gamma": 0.1}, ["a", "b"]), "colour rbf(gamma=0.1)", "rbf γ=0.1 · colour"),
        (KernelSpec("rbf", features=["a", "b"]), "rbf", "rbf · 2 columns"),
        (KernelSpec("rbf"), "two\nlines\x00\u202e", "rbf · two lines"),
    ],
)
def test_what_a_kernel_computes(spec: KernelSpec, label: str | None, text: str) -> None:
    assert kernel_text(spec, label) == text


def test_weights_are_named_like_in_the_paper() -> None:
    assert t.figure1().names["p9"] == "β₉"
    spn = SPN(Sum(Product(Kernel("rbf"), id="p120"), Product(Kernel("rbf"), label="left eye"), id="s"))
    assert [spn.names[v] for v in spn.products] == ["β₁₂₀", "β[left eye]"]
    view = t.figure1().expanded()
    assert view.names[view.products[-1]] == "β₉¹⁄² β₄¹⁄⁴ β₇¹⁄⁴"


def test_a_kernel_without_a_clear_name_shows_the_symbol_that_the_formula_has_for_it() -> None:
    alike = Kernel("rbf", features=["a"], label="mean"), Kernel("linear", features=["a"], label="mean")
    spn = SPN(Sum(*map(Product, (Kernel("rbf"), *alike, Kernel("cosine", label="angle"), Kernel("cosine", id="own")))))
    shown = [node_text(spn, v) for v in spn.kernels]
    assert shown == ["K₁ rbf", "K₂ rbf · mean", "K₃ linear · mean", "cosine · angle", "cosine · own"]
    assert spn.formula(latex=False) == "K = β₁K₁ + β₂K₂ + β₃K₃ + β₄K_angle + β₅K_own"


def test_given_matrices_are_told_apart_by_their_names() -> None:
    spn = SPN(Product(Kernel("precomputed", id="methylation"), Kernel("precomputed", label="k7")))
    assert [node_text(spn, v) for v in spn.kernels] == ["precomputed · methylation", "precomputed · k7"]


def test_a_sum_shows_a_label_that_its_product_does_not_show_already() -> None:
    inner = Sum(Product(Kernel("rbf")), label="colour", id="inner")
    spn = SPN(Sum(Product(inner, label="colour"), label="all", id="top"))
    assert [node_text(spn, v) for v in ("top", "inner")] == ["all", ""]


def test_long_texts_keep_both_ends() -> None:
    assert shortened("car__wheel__front__colour", 17) == "car__whe…__colour"
    assert shortened("short", 17) == "short"
    assert len(shortened("x" * 10_000, 30)) == 30


@settings(max_examples=200, deadline=None, derandomize=True)
@given(text=st.text(max_size=60), length=st.integers(5, 30))
def test_shortened_text_is_short(text: str, length: int) -> None:
    cut = shortened(text, length)
    assert cut == text or ("…" in cut and len(cut) <= 4 * length + 1)
