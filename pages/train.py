"""Train, and watch."""

from spnmkl.ui.pages.train import train_page
from spnmkl.ui.parts.canvas import load_library

load_library()
train_page()
