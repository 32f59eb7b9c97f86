"""Compare with baselines."""

from spnmkl.ui.pages.compare.page import compare_page

compare_page()
