"""See what was learned."""

from spnmkl.ui.canvas import load_library
from spnmkl.ui.inspect_page import inspect_page

load_library()
inspect_page()
