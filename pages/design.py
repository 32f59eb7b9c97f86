"""Draw the structure."""

from spnmkl.ui.pages.design.exchange import exchange
from spnmkl.ui.pages.design.page import workbench
from spnmkl.ui.parts.canvas import load_library

load_library()
exchange()
workbench()
