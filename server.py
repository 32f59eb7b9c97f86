"""What `spnmkl app` serves: the app, behind a guard that gives files of a page to the browser that was shown it."""

import streamlit as st

from spnmkl.ui.guard import Guard

app = st.App("app.py")
app = Guard(app)
