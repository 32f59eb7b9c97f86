"""Compare runs, and keep them."""

from spnmkl.ui.runs_page import runs_page

runs_page()
