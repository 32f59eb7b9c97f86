"""Bring the data."""

import streamlit as st

from spnmkl.ui.data_page import data_page

st.markdown("#### Data — bring the samples")
data_page()
