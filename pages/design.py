"""Draw the structure."""

import streamlit as st

from spnmkl.ui.canvas import load_library
from spnmkl.ui.design import workbench

load_library()
st.markdown("#### Design — draw how the kernels are combined")
workbench()
