"""The app's entry: navigation only. Start it with `make app` or `spnmkl app`."""

import streamlit as st

from spnmkl.ui.parts.account import account
from spnmkl.ui.parts.login import administers, login_page
from spnmkl.ui.parts.notices import notices
from spnmkl.ui.parts.session import FRONTEND, admit, attach, boundary, kept_page
from spnmkl.ui.serve import warm_up

st.set_page_config(page_title="spnmkl", page_icon=str(FRONTEND / "icon.png"), layout="wide")
admitted = admit()
pages = [
    st.Page("pages/start.py", title="Start", icon=":material/home:", default=True),
    st.Page("pages/data.py", title="Data", icon=":material/table:"),
    st.Page("pages/design.py", title="Design", icon=":material/account_tree:"),
    st.Page("pages/train.py", title="Train", icon=":material/model_training:"),
    st.Page("pages/inspect.py", title="Inspect", icon=":material/insights:"),
    st.Page("pages/compare.py", title="Compare", icon=":material/leaderboard:"),
    st.Page("pages/predict.py", title="Predict", icon=":material/upload_file:"),
    st.Page("pages/runs.py", title="Runs", icon=":material/compare:"),
    st.Page("pages/projects.py", title="Projects", icon=":material/folder:"),
]
if admitted and administers():
    pages.append(st.Page("pages/administration.py", title="Administration", icon=":material/shield_person:"))
page = st.navigation(pages, position="top" if admitted else "hidden")
st.html(FRONTEND / "app.css")
if not admitted:
    with boundary():
        login_page()
    st.stop()
warm_up()
attach()
with kept_page(), boundary():
    account()
    notices()
    page.run()
