"""Compare runs, and keep them."""

from spnmkl.ui.pages.runs import runs_page

runs_page()
