"""The first minute."""

from spnmkl.ui.pages.start import start_page

start_page()
