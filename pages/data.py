"""Bring the data."""

from spnmkl.ui.pages.data import data_page

data_page()
