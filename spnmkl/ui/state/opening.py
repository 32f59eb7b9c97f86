"""The drawing that data open on."""

from __future__ import annotations

from spnmkl.data import Choices, Dataset, suggestions
from spnmkl.errors import SPNMKLError
from spnmkl.structure import SPN, Product
from spnmkl.structure.defaults import Part, default_drawing
from spnmkl.structure.templates import RBF
from spnmkl.training.default import suited_parts
from spnmkl.ui.state.drawing import check_size


def opening_structure(dataset: Dataset) -> SPN:
    """A flat sum over every view and every column, of kernels that suit what the columns are, one width for each.

    No view is multiplied with another: a path counts in full for each of its views, so that noise which happened to be
    multiplied with the signal would seem to matter as much. Views in another order give the same sum in that order.
    *Let it choose* on Train goes on from here with several widths, between which certified weights cannot decide.
    """
    parts = list(suited_parts(dataset, Choices(), suggestions(dataset)))
    try:
        spn = default_drawing(parts, several=False)
        check_size(spn)
    except SPNMKLError:  # no column, or too many views to be drawn
        return default_drawing([Part("")], several=False) if dataset.features else SPN(Product(RBF))
    return spn
