"""The administrator's page."""

from spnmkl.ui.pages.administration import administration_page

administration_page()
