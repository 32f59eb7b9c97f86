"""What lists of projects say of each."""

from __future__ import annotations

from datetime import datetime

from spnmkl.ui.parts.words import plain
from spnmkl.wording import counted

MOST_SHOWN = 50  # projects in a list


def data_words(name: str, n_rows: int) -> str:
    return f"{plain(name[:60])} with {counted(n_rows, 'row')}" if name else "no data"


def when(seconds: float) -> str:
    then, now = datetime.fromtimestamp(seconds), datetime.now()
    return then.strftime("%H:%M:%S" if then.date() == now.date() else "%d %B %Y %H:%M")
