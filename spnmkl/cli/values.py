"""What an option may be given: the text as a value, or the sentence that it is none."""

from __future__ import annotations

import argparse
import math


def power(text: str) -> float | str:
    try:
        return text if text == "sparse" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number or sparse, found {text!r}") from None


def loss_weight(text: str) -> float | str:
    try:
        return text if text == "cv" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number or cv, found {text!r}") from None


def natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number of 0 or more, found {text!r}")
    return int(text)


def positive(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a whole number of 1 or more, found {text!r}")


def folds(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) > 1:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a whole number of 2 or more, found {text!r}")


def folds_and_rounds(text: str) -> tuple[int, int]:
    folds, _, rounds = text.partition("x")
    if not folds.isdecimal() or not rounds.isdecimal() or int(folds) < 2 or int(rounds) < 1:
        raise argparse.ArgumentTypeError(f"expected folds x rounds such as 5x2, found {text!r}")
    return int(folds), int(rounds)


def share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if 0 <= share < 1:
        return share
    meant = f"; did you mean {share / 100:g}" if 1 < share < 100 else ""
    raise argparse.ArgumentTypeError(f"expected a share of the rows between 0 and 1, found {text!r}{meant}")
