"""The Projects page."""

from spnmkl.ui.pages.projects import projects_page

projects_page()
