"""Draw the structure."""

from spnmkl.ui.canvas import load_library
from spnmkl.ui.design import workbench
from spnmkl.ui.exchange import exchange

load_library()
exchange()
workbench()
