"""What tabs train and keep, without Streamlit."""

import pytest

from spnmkl.data import Choices, Dataset, SplitSettings, load_sample
from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.ui.state import kernel_shelf
from spnmkl.ui.state.activity import Trainer
from spnmkl.ui.state.task import Task


def task(dataset: Dataset | None = None) -> Task:
    spn = SPN(Sum(Product(Kernel("rbf")), Product(Kernel("linear"))))
    return Task(spn, dataset or load_sample("wine"), Choices(), SplitSettings())


def test_kernels_of_all_tabs_stay_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    trainers, tasks = [Trainer() for _ in range(4)], [task() for _ in range(4)]
    size = trainers[0].kernels.prepared(tasks[0]).nbytes
    monkeypatch.setattr(kernel_shelf, "KEPT_BYTES", 2.5 * size)
    for trainer, its in zip(trainers, tasks, strict=True):
        trainer.kernels.prepared(its)
    held = [trainer.kernels.holds(its) for trainer, its in zip(trainers, tasks, strict=True)]
    assert held == [False, False, True, True]
    again = trainers[0].kernels.prepared(tasks[0])
    assert trainers[0].kernels.prepared(tasks[0]) is again, "computed anew and kept"


def test_kernels_larger_than_the_bound_are_used_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_shelf, "KEPT_BYTES", 1)
    trainer, its = Trainer(), task()
    assert trainer.start("train", its, trainer.settings, lambda: True).job.join(60)
    trainer.collect()
    assert trainer.book.run is not None and trainer.book.run.solution.status == "optimal"


def test_two_trainers_do_not_mix() -> None:
    first, second = Trainer(), Trainer()
    its, others = task(), task(load_sample("breast_cancer"))
    jobs = [
        trainer.start("train", t, trainer.settings, lambda: True) for trainer, t in ((first, its), (second, others))
    ]
    assert all(activity.job.join(60) for activity in jobs)
    first.collect()
    second.collect()
    assert first.book.run is not None and second.book.run is not None
    assert (first.book.run.dataset_name, second.book.run.dataset_name) == ("wine", "breast_cancer")
    assert (len(first.book.run.solution.classes), len(second.book.run.solution.classes)) == (3, 2)
