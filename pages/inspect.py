"""See what was learned."""

from spnmkl.ui.pages.inspect.page import inspect_page

inspect_page()
