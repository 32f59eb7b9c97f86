"""The drawing that data open on: no view is taken for another, in whichever order they come."""

import numpy as np
import pandas as pd
import pytest

from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.structure import SPN
from spnmkl.training.kernel_checks import kernel_issues
from spnmkl.training.prepared import prepare
from spnmkl.training.settings import Settings
from spnmkl.training.train import train
from spnmkl.ui.state.opening import opening_structure

SPLIT = SplitSettings(0.4, 0)


def signal_and_noise(order: list[str], n: int = 300) -> Dataset:
    """5 columns that make the labels, and 200 that do not; files of views in any order make columns in that order."""
    rng = np.random.default_rng(0)
    tables = {view: rng.normal(size=(n, columns)) for view, columns in (("signal", 5), ("noise", 200))}
    y = np.where(tables["signal"].sum(axis=1) + 0.5 * rng.normal(size=n) > 0, "case", "control")
    frames = [pd.DataFrame(tables[view]).add_prefix(f"{view}__") for view in order]
    return Dataset("t", pd.concat(frames, axis=1).assign(y=y), "y").views_by_prefix()


@pytest.mark.parametrize("order", [["signal", "noise"], ["noise", "signal"]])
def test_noise_has_no_share_whichever_view_comes_first(order: list[str]) -> None:
    dataset = signal_and_noise(order)
    run = train(prepare(opening_structure(dataset), dataset, Choices(), SPLIT), Settings(), n_threads=1)
    assert run.held_out is not None and run.held_out.known
    signal, noise = run.held_out.views["signal"], run.held_out.views["noise"]
    assert abs(noise.share) <= 2 * noise.error
    assert signal.share > 0.8


def kernels_of(spn: SPN) -> set[tuple[object, ...]]:
    return {(s.kernel, s.features, s.params) for s in map(spn.spec, spn.kernels)}


def test_views_in_another_order_open_on_the_same_sum() -> None:
    one, other = (opening_structure(signal_and_noise(order)) for order in (["signal", "noise"], ["noise", "signal"]))
    assert kernels_of(one) == kernels_of(other)
    assert one.formula(latex=False).count("β") == len(one.kernels) == 4, "each kernel under a weight of its own"


@pytest.mark.parametrize("columns", [1, 2, 40])
@pytest.mark.parametrize("kind", ["noise", "counts"])
def test_no_two_kernels_that_data_open_on_are_nearly_equal(kind: str, columns: int) -> None:
    """Of one column to a view, and of many views, each of which has kernels of its own."""
    rng = np.random.default_rng(2)
    shape = (120, columns * 12)
    X = rng.normal(size=shape) if kind == "noise" else rng.poisson(np.exp(rng.normal(1.0, 1.0, size=shape)))
    frame = pd.DataFrame(X, columns=[f"v{k // columns}__c{k % columns}" for k in range(shape[1])])
    dataset = Dataset("t", frame.assign(y=np.resize(["a", "b"], 120)), "y").views_by_prefix()
    spn = opening_structure(dataset)
    assert len(spn.kernels) == 2 * 12
    assert {c for leaf in spn.kernels for c in spn.spec(leaf).features} == set(dataset.features)
    assert kernel_issues(spn, dataset, Choices(), SPLIT) == []
