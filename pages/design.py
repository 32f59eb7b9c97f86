"""Draw the structure."""

from spnmkl.ui.pages.design.exchange import exchange
from spnmkl.ui.pages.design.page import workbench
from spnmkl.ui.parts.canvas import send_columns
from spnmkl.ui.parts.session import workspace

send_columns(workspace().dataset)
exchange()
workbench()
