"""Train, and watch."""

from spnmkl.ui.canvas import load_library
from spnmkl.ui.train_page import train_page

load_library()
train_page()
