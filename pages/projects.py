"""The Projects page."""

from spnmkl.ui.pages.projects.page import projects_page

projects_page()
