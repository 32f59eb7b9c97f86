"""Predict new rows."""

from spnmkl.ui.predict_page import predict_page

predict_page()
