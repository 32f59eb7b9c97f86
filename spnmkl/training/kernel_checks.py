"""Kernels that cannot work on the loaded data, named before training, each with its repair."""

from __future__ import annotations

import numpy as np

from spnmkl.data import Choices, Dataset, Preparation, Split, SplitSettings
from spnmkl.errors import SPNMKLError
from spnmkl.kernels.examination import KernelIssue, issues_on, repair_kernels
from spnmkl.kernels.matrices import spread_rows
from spnmkl.kernels.sampling import SAMPLE_ROWS, KernelSample
from spnmkl.structure import SPN, Issue, Kernel, Product
from spnmkl.training.checks import all_issues, errors
from spnmkl.training.prepared import Rows, labelled_parts, prepared_columns

LEAST_ROWS = 20  # from which kernels are judged
_ANY_COLUMN = SPN(Product(Kernel("hamming")))  # may see numbers and text


def kernel_sample(dataset: Dataset, choices: Choices, split: SplitSettings) -> KernelSample:
    """Some of the training rows as kernels will see them; what is learned of the columns is learned from these rows."""
    rows = labelled_parts(dataset, split)[0].train
    part = dataset.take(rows[spread_rows(len(rows), SAMPLE_ROWS)])
    all_rows = np.arange(len(part.frame))
    if not dataset.features:
        return KernelSample(np.empty((len(all_rows), 0)), (), part.matrices)
    known = Split(all_rows, all_rows[:0])
    parts, _, preparation = prepared_columns(_ANY_COLUMN, part, choices, SplitSettings(0.0), known)
    rows = _having_all(parts.train, preparation, part)
    X = preparation.transform(part.frame.iloc[rows])
    matrices = {name: K[np.ix_(rows, rows)] for name, K in part.matrices.items()}
    return KernelSample(X.to_numpy(), tuple(X.columns), matrices, preparation.mapped)


def _having_all(rows: Rows, preparation: Preparation, dataset: Dataset) -> Rows:
    """Without the rows that lack a view, if enough are left: the average in its place says nothing of a kernel."""
    lacking = list(preparation.lacking(dataset.frame.iloc[rows]).values())
    whole = rows[~np.any(lacking, axis=0)] if lacking else rows
    return whole if len(whole) >= LEAST_ROWS else rows


def kernel_issues(
    spn: SPN, dataset: Dataset, choices: Choices, split: SplitSettings, sample: KernelSample | None = None
) -> list[KernelIssue]:
    """What `spnmkl.kernels.examine_kernels` says of a drawing on the training rows.

    Nothing is said where the drawing or the data cannot be trained on, which others say.

    Parameters
    ----------
    spn : SPN
    dataset : Dataset
    choices : Choices
    split : SplitSettings
    sample : KernelSample, optional
        What `kernel_sample` gave for the same data, which remembers the kernels that it has seen.
    """
    if dataset.label is None or errors(all_issues(spn, dataset, choices)):
        return []
    try:
        return issues_on(spn, sample or kernel_sample(dataset, choices, split))
    except SPNMKLError:
        return []


def with_kernel_issues(issues: list[Issue], found: list[KernelIssue]) -> list[Issue]:
    """All issues of a drawing; that products multiply equal kernels is said once, where it can be repaired."""
    equal = [set(issue.nodes) for issue in found if issue.code == "nearly_equal"]
    said = [i for i in issues if i.code != "equal_products" or not any(set(i.nodes) <= nodes for nodes in equal)]
    return [*said, *found]


def repaired_on_data(spn: SPN, dataset: Dataset, choices: Choices, split: SplitSettings) -> SPN:
    """The drawing with every repair made that `kernel_issues` offers."""
    if not kernel_issues(spn, dataset, choices, split):
        return spn
    return repair_kernels(spn, kernel_sample(dataset, choices, split))
