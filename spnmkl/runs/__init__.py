"""A training of a drawn structure on loaded data, and all that can be said of it (no Streamlit here)."""
