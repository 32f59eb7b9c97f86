"""The app: state, store, canvas and the parts of its pages. The only package that imports Streamlit."""
