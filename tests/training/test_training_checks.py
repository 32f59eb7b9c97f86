"""What keeps a drawing from being trained is one list, with or without data; settings follow one rule everywhere."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import exploding

from spnmkl import SPN, DataError, Kernel, ParameterError, Product, SPNMKLClassifier, Sum, solve
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.kernels import KernelIssue
from spnmkl.training.checks import all_issues, errors
from spnmkl.training.prepared import prepare
from spnmkl.training.settings import Settings

FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "colour": ["red", "blue", "red", "blue"], "y": [0, 1, 0, 1]})
DATA = Dataset("made", FRAME, "y")


def flat(*leaves: Kernel) -> SPN:
    return SPN(Sum(*map(Product, leaves)))


def codes(spn: SPN, *data: Any) -> list[str]:
    return [issue.code for issue in all_issues(spn, *data)]


def test_columns_are_checked_where_there_are_data() -> None:
    spn = flat(Kernel("rbf", features=["b"]), Kernel("linear", features=["a"]))
    assert codes(spn) == [] and codes(spn, DATA) == ["unknown_column"]


ROLES = {
    "y": "is the label, the answer itself; take it from the kernel's columns, or choose another label",
    "who": "is the group, which only says what rows belong together; take it from the kernel's columns, or use no "
    "group",
    "id": "only tells rows apart and is left out; take it from the kernel's columns, or keep the column in the data",
    "colour": "is left out of the data; take it from the kernel's columns, or keep the column in the data",
}


@pytest.mark.parametrize("column", ROLES)
def test_a_column_that_is_none_to_learn_from_is_called_what_it_is(column: str) -> None:
    frame = FRAME.assign(id=["u", "v", "w", "x"], who=[1, 1, 2, 2])
    data = Dataset("made", frame, "y", ignored=("colour", "id"), group="who")
    spn = flat(Kernel("linear", features=["a"]), Kernel("rbf", features=["a", column], label="both"))
    (issue,) = all_issues(spn, data)
    assert issue.nodes == (spn.kernels[1],)
    assert issue.message == f"Kernel 'rbf' of leaf 'both' asks for column '{column}', which {ROLES[column]}."
    with pytest.raises(DataError) as refused:
        prepare(spn, data, Choices(), SplitSettings(0.0))
    assert str(refused.value) == issue.message


def test_text_is_no_number_unless_it_becomes_some() -> None:
    spn = SPN(Product(Kernel("rbf")))
    assert codes(spn, DATA) == codes(spn, DATA, Choices()) == ["text"]
    assert codes(spn, DATA, Choices(categorical="one-hot")) == codes(spn, DATA.with_label(None)) == []


def test_a_matrix_is_asked_for_only_without_data() -> None:
    spn = SPN(Product(Kernel("precomputed", label="K")))
    assert codes(spn) == ["needs_matrix"] and not errors(all_issues(spn)) and codes(spn, DATA) == []


def test_the_compiled_size_counts_everywhere() -> None:
    spn = SPN.from_dict(exploding(15))
    assert "too_large" in codes(spn) and "too_large" in codes(spn, DATA)


WRONG: dict[str, tuple[Any, ...]] = {
    "C": (0, True, "1", np.nan, 10**400),
    "lam": (-1.0, None),
    "p": (0, True, "dense", {"p1": -1}, {1: 1.0}),
    "tol": (0, 1, True, "tight"),
    "max_iter": (0, 1.5, True),
    "max_time": (0, np.inf, True, "1 h"),
    "solver": ("magic", None),
    "class_weight": ("fair", {0: -1}, {0: "much"}),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_setting_is_refused_everywhere_in_the_same_words(name: str, value: Any) -> None:
    spn, y = SPN(Sum(Product(Kernel("linear"), id="p1"))), np.array([0, 1, 0, 1])
    with pytest.raises(ParameterError) as stored:
        Settings(**{name: value})
    with pytest.raises(ParameterError) as solved:
        solve(spn, {"k1": np.eye(4)}, y, **{name: value})
    assert str(stored.value) == str(solved.value)
    with pytest.raises(ValueError):
        SPNMKLClassifier(spn, **{name: value}).fit(np.eye(4), y)


def test_a_kernel_for_numbers_that_sees_text_can_be_repaired() -> None:
    """As one that was added with two keys sees all columns."""
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "ward": list("nsns"), "site": list("abba"), "y": list("uvuv")})
    dataset = Dataset("d", frame, "y")
    for features, expected in ((None, ("age",)), (["ward", "age"], ("age",)), (["ward", "site"], ("ward", "site"))):
        spn = SPN(Sum(Product(Kernel("rbf", features=features, id="k"))))
        (issue,) = errors(all_issues(spn, dataset))
        assert isinstance(issue, KernelIssue) and issue.repair
        repaired = issue.applied(spn)
        assert not errors(all_issues(repaired, dataset)) and repaired.spec("k").features == expected
