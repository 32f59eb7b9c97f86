"""What keeps a drawing from being trained: one list for the command line, the app's badges and the training itself."""

from __future__ import annotations

from spnmkl.circuit.program import compile_circuit
from spnmkl.data import Choices, Dataset, sees_text
from spnmkl.errors import StructureError
from spnmkl.kernels import validate_kernels
from spnmkl.structure import SPN, Issue


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
    return [issue for issue in validate_kernels(spn, columns, len(columns)) if issue.code != "needs_matrix"]


def _text_issues(spn: SPN, dataset: Dataset, choices: Choices) -> list[Issue]:
    """Kernels that would take the codes of text for quantities; without a label it may be among the columns."""
    text = dataset.categorical if dataset.label is not None and choices.categorical == "codes" else ()
    return [Issue("text", "error", (leaf,), message) for leaf, message in sees_text(spn, text, dataset.features)]


def _size_issues(spn: SPN) -> list[Issue]:
    try:
        compile_circuit(spn)
    except StructureError as error:
        return [Issue("too_large", "error", (), str(error))]
    return []
