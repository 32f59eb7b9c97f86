"""Kernels that cannot work on loaded data, and one of several widths by cross-validation."""

import numpy as np
import pandas as pd
import pytest

from spnmkl.data import SAMPLES, Choices, Dataset, SplitSettings, load_sample
from spnmkl.structure import SPN, Kernel, Product, templates
from spnmkl.training.checks import all_issues
from spnmkl.training.choose_width import MOST_ROWS, choose_width, only
from spnmkl.training.kernel_checks import kernel_issues, kernel_sample, repaired_on_data, with_kernel_issues
from spnmkl.ui.state.kernel_checks import about_widths
from spnmkl.ui.state.opening import opening_structure

SPLIT = SplitSettings()


def table(n: int = 120, columns: int = 60, **more: object) -> Dataset:
    X = np.random.default_rng(1).normal(size=(n, columns))
    frame = pd.DataFrame(X, columns=[f"g{k}" for k in range(columns)])
    return Dataset("t", frame.assign(y=np.where(X[:, 0] + X[:, 1] > 0, "a", "b"), **more), "y")


def widths(dataset: Dataset, *gammas: float) -> SPN:
    numbers = dataset.numeric
    return templates.flat([Kernel("rbf", gamma=g, features=numbers, label=f"{g:g}") for g in gammas])


@pytest.mark.parametrize("name", SAMPLES)
def test_what_samples_open_on_can_work(name: str) -> None:
    """The opening drawing offers widths that compete, on purpose: rows held out choose how they are weighed."""
    dataset, sample = load_sample(name), SAMPLES[name]
    opening = opening_structure(dataset)
    found = kernel_issues(opening, dataset, Choices(missing="mean"), SPLIT)
    assert [issue for issue in found if not about_widths(opening, issue)] == []
    if sample.drawing is not None:
        assert kernel_issues(sample.drawing, dataset, Choices(missing="mean"), SPLIT) == []


def test_only_training_rows_are_looked_at() -> None:
    """A column that varies on the test rows alone is constant."""
    dataset = table()
    train = set(kernel_sample_rows(dataset))
    late = [0.0 if i in train else float(i) for i in range(120)]
    dataset = table(late=late)
    spn = templates.flat([Kernel("rbf", features=["late"]), Kernel("rbf", features=["g0"])])
    assert [issue.code for issue in kernel_issues(spn, dataset, Choices(), SPLIT)] == ["nearly_constant"]


def kernel_sample_rows(dataset: Dataset) -> list[int]:
    from spnmkl.training.prepared import labelled_parts

    return labelled_parts(dataset, SPLIT)[0].train.tolist()


def test_columns_are_seen_as_prepared() -> None:
    dataset = table(big=np.random.default_rng(2).normal(size=120) * 1e-4 + 50)
    spn = templates.flat([Kernel("rbf", gamma=0.5, features=["big"]), Kernel("rbf", features=["g0"])])
    as_is = kernel_issues(spn, dataset, Choices(numeric="as is"), SPLIT)
    assert [issue.code for issue in as_is] == ["nearly_constant"]
    assert kernel_issues(spn, dataset, Choices(), SPLIT) == []


def test_text_as_one_column_per_value_is_named_as_drawn() -> None:
    dataset = table(ward=np.resize(list("uvw"), 120))
    spn = templates.flat(
        [Kernel("rbf", gamma=500.0, features=[*dataset.numeric, "ward"]), Kernel("rbf", features=["g0"])]
    )
    (issue,) = kernel_issues(spn, dataset, Choices(categorical="one-hot"), SPLIT)
    assert issue.message.startswith("The kernel 'K₁ rbf · 61 columns' is nearly the identity")
    repaired = repaired_on_data(spn, dataset, Choices(categorical="one-hot"), SPLIT)
    assert repaired == spn.replace("k1", params={"gamma": "median"})


def test_given_matrices_are_looked_at_too() -> None:
    dataset = table()
    identity = np.eye(120)
    dataset = Dataset("t", dataset.frame, "y", matrices={"own": identity, "all": np.ones((120, 120))})
    spn = templates.flat([Kernel("precomputed", label="own"), Kernel("precomputed", label="all"), Kernel("linear")])
    found = kernel_issues(spn, dataset, Choices(), SPLIT)
    assert [(issue.code, issue.remove) for issue in found] == [("nearly_identity", "k1"), ("nearly_constant", "k2")]


def test_nothing_is_said_of_what_cannot_be_trained_on() -> None:
    dataset = table()
    unlabelled, holes = Dataset("t", dataset.frame), table(gap=[np.nan] * 119 + [1.0])
    for data in (unlabelled, holes):
        assert kernel_issues(SPN(Product(Kernel("rbf", gamma=500.0))), data, Choices(), SPLIT) == []
    broken = SPN(Kernel("rbf"))
    assert kernel_issues(broken, dataset, Choices(), SPLIT) == []


def test_equal_products_are_said_once_with_a_repair() -> None:
    dataset = table()
    spn = templates.flat([Kernel("rbf", features=["g0"]), Kernel("rbf", features=["g0"])])
    issues = with_kernel_issues(all_issues(spn, dataset), kernel_issues(spn, dataset, Choices(), SPLIT))
    assert [(issue.code, issue.repair) for issue in issues] == [("nearly_equal", "take β₂ out of the drawing")]


def test_the_width_that_predicts_is_chosen_where_certified_weights_take_the_narrowest() -> None:
    dataset = table(columns=20)
    spn = widths(dataset, 0.005, 0.5)
    (issue,) = [i for i in kernel_issues(spn, dataset, Choices(), SPLIT) if i.widths]
    seen: list[tuple[int, int, str]] = []
    found = choose_width(spn, dataset, Choices(), SPLIT, issue.widths, progress=lambda *said: seen.append(said))
    assert found is not None
    assert spn.label(found.best) == "0.005"
    assert found.n_rows == len(kernel_sample_rows(dataset))
    assert found.accuracy["k1"] > found.accuracy["k2"] + 0.1
    done = [k / total for k, total, _ in seen]
    assert done == sorted(done) and seen[-1][0] == seen[-1][1]
    alone = only(spn, issue.widths, found.best)
    assert [alone.label(leaf) for leaf in alone.kernels] == ["0.005"]
    assert kernel_issues(alone, dataset, Choices(), SPLIT) == []


def test_choosing_a_width_can_be_stopped_and_takes_a_bounded_share_of_each_class() -> None:
    dataset = table(n=3000, columns=2)
    spn = widths(dataset, 0.1, 1.0)
    calls: list[int] = []
    stopped = choose_width(
        spn,
        dataset,
        Choices(),
        SPLIT,
        ("k1", "k2"),
        progress=lambda *said: calls.append(1),
        stop=lambda: len(calls) > 2,
    )
    assert stopped is None
    small = table(n=MOST_ROWS // 2, columns=2)
    found = choose_width(widths(small, 0.1, 1.0), small, Choices(), SPLIT, ("k1", "k2"))
    assert found is not None and found.n_rows == len(kernel_sample_rows(small))


def test_the_sample_is_small_and_remembers() -> None:
    sample = kernel_sample(table(n=900), Choices(), SPLIT)
    assert (sample.n, sample.X.shape) == (200, (200, 60))
    spn = templates.flat([Kernel("rbf", features=[0])])
    assert sample.looks(spn)["k1"] is sample.looks(spn)["k1"]
