"""What `spnmkl app` serves: the app, behind a guard that gives files of a page to the browser that was shown it."""

import sys

import streamlit as st

from spnmkl.errors import SPNMKLError
from spnmkl.ui.guard import Guard
from spnmkl.ui.parts.login import check_secrets

try:
    check_secrets()
except SPNMKLError as error:
    sys.exit(f"spnmkl: {error}")
app = st.App("app.py")
app = Guard(app)
