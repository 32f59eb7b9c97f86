"""The drawing that data open on."""

from __future__ import annotations

from spnmkl.data import Choices, Dataset, suggestions
from spnmkl.errors import SPNMKLError
from spnmkl.structure import SPN, Product
from spnmkl.structure.defaults import Part, default_drawing
from spnmkl.structure.templates import RBF
from spnmkl.training.default import suited_parts
from spnmkl.ui.state.computed_once import kept_with_dataset
from spnmkl.ui.state.drawing import check_size


@kept_with_dataset
def opening_structure(dataset: Dataset) -> SPN:
    """The default of the command line: a flat sum over every view and column, of kernels that suit the columns.

    No view is multiplied with another: a path counts in full for each of its views, so that noise which happened to be
    multiplied with the signal would seem to matter as much. Views in another order give the same sum in that order.
    Between several widths certified weights cannot decide, so that *Train* chooses by cross-validation as long as
    nobody has changed the drawing.
    """
    parts = list(suited_parts(dataset, Choices(), suggestions(dataset)))
    try:
        spn = default_drawing(parts)
        check_size(spn)
    except SPNMKLError:  # no column, or too many views to be drawn
        return default_drawing([Part("")]) if dataset.features else SPN(Product(RBF))
    return spn
