"""See what was learned."""

from spnmkl.ui.pages.inspect.page import inspect_page
from spnmkl.ui.parts.canvas import load_library

load_library()
inspect_page()
