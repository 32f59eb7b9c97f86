"""Train, and watch."""

from spnmkl.ui.pages.train import train_page

train_page()
