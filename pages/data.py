"""Bring the data."""

from spnmkl.ui.data_page import data_page

data_page()
