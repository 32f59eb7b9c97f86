"""Bring the data."""

import streamlit as st

from spnmkl.ui.data_page import data_page

title, onwards = st.columns([4, 1], vertical_alignment="center")
title.markdown("#### Data — bring the samples")
onwards.page_link("pages/design.py", label="Next: draw the structure", icon=":material/arrow_forward:")
data_page()
