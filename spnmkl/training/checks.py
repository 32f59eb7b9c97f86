"""What keeps a drawing from being trained: one list for the command line, the app's badges and the training itself."""

from __future__ import annotations

from collections.abc import Collection

from spnmkl.circuit.program import compile_circuit
from spnmkl.data import Choices, Dataset, identifiers, sees_text
from spnmkl.errors import DataError, StructureError
from spnmkl.kernels import KernelIssue, validate_kernels
from spnmkl.structure import SPN, Issue
from spnmkl.wording import counted, quoted

# What a column is for that is none to learn from, and what to do about a kernel that asks for it.
LABEL = "is the label, the answer itself; take it from the kernel's columns, or choose another label"
GROUP = "is the group, which only says what rows belong together; take it from the kernel's columns, or use no group"
ADJUSTED = "is adjusted for, so that no kernel sees it; take it from the kernel's columns, or do not adjust for it"
IDENTIFIER = "only tells rows apart and is left out; take it from the kernel's columns, or keep the column in the data"
IGNORED = "is left out of the data; take it from the kernel's columns, or keep the column in the data"


def all_issues(spn: SPN, dataset: Dataset | None = None, choices: Choices | None = None) -> list[Issue]:
    """What is wrong with a drawing, with its kernels, with its size once compiled, and with it on these data.

    Parameters
    ----------
    spn : SPN
    dataset : Dataset, optional
        Columns are checked where it is given. A kernel matrix is asked for only at training.
    choices : Choices, optional
        What is done to the columns of the data.
    """
    issues = spn.validate() + _kernel_issues(spn, dataset)
    if dataset is not None:
        issues += _text_issues(spn, dataset, choices or Choices())
    return issues if errors(issues) else issues + _size_issues(spn)


def errors(issues: list[Issue]) -> list[Issue]:
    return [issue for issue in issues if issue.severity == "error"]


def _kernel_issues(spn: SPN, dataset: Dataset | None) -> list[Issue]:
    if dataset is None:
        return validate_kernels(spn)
    columns = dataset.features
    found = [issue for issue in validate_kernels(spn, columns, len(columns)) if issue.code != "needs_matrix"]
    not_features = _not_features(spn, dataset)
    return [not_features.get(issue.nodes[0], issue) if issue.code == "unknown_column" else issue for issue in found]


def refuse_not_features(spn: SPN, dataset: Dataset) -> None:
    """Raise for the first leaf that sees a column which is there, but not to learn from."""
    for issue in _not_features(spn, dataset).values():
        raise DataError(issue.message)


def _not_features(spn: SPN, dataset: Dataset) -> dict[str, Issue]:
    """Leaf → what is wrong with the first of its columns that is the label, the group or left out."""
    others, issues = {dataset.label, dataset.group, *dataset.ignored, *dataset.adjust}, {}
    for leaf in spn.kernels:
        spec = spn.spec(leaf)
        column = next((c for c in spec.features or () if isinstance(c, str) and c in others), None)
        if column is not None:
            who = f"Kernel {spec.kernel!r} of leaf {quoted(spn.label(leaf))}"
            message = f"{who} asks for column {quoted(column)}, which {_role(dataset, column)}."
            issues[leaf] = Issue("no_feature", "error", (leaf,), message)
    return issues


def _role(dataset: Dataset, column: str) -> str:
    if column in (dataset.label, dataset.group):
        return LABEL if column == dataset.label else GROUP
    if column in dataset.adjust:
        return ADJUSTED
    return IDENTIFIER if identifiers(dataset.frame[[column]]) else IGNORED


def _text_issues(spn: SPN, dataset: Dataset, choices: Choices) -> list[Issue]:
    """Kernels that would take the codes of text for quantities; without a label it may be among the columns."""
    text = dataset.categorical if dataset.label is not None and choices.categorical == "codes" else ()
    return [_text_issue(spn, leaf, message, dataset, text) for leaf, message in sees_text(spn, text, dataset.features)]


def _text_issue(spn: SPN, leaf: str, message: str, dataset: Dataset, text: Collection[str]) -> KernelIssue:
    """With its repair: numbers alone or, where there are none, the kernel for text."""
    named = spn.spec(leaf).features
    seen = dataset.features if named is None else [dataset.features[f] if isinstance(f, int) else f for f in named]
    numbers = [column for column in seen if column not in set(text)]
    if numbers:
        repair = f"show it the {counted(len(numbers), 'column')} of numbers alone"
        return KernelIssue("text", "error", (leaf,), message, repair, change={"features": numbers})
    change = {"kernel": "hamming", "params": {}}
    return KernelIssue("text", "error", (leaf,), message, "compare text by the hamming kernel", change=change)


def _size_issues(spn: SPN) -> list[Issue]:
    try:
        compile_circuit(spn)
    except StructureError as error:
        return [Issue("too_large", "error", (), str(error))]
    return []
