"""Predict new rows."""

from spnmkl.ui.pages.predict import predict_page

predict_page()
