"""A training as a short animation: ``python scripts/training_frames.py FILE.gif``.

The known sample with the drawing that comes with it, at the app's own settings; one picture per iteration.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from spnmkl.data import SAMPLES, Choices, SplitSettings, load_sample
from spnmkl.export.picture import to_png
from spnmkl.reporting.endings import percent
from spnmkl.training.prepared import prepare
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.training.train import train

WIDTH, HEAD = 1100, 44
HOLD_MS, LAST_MS = 700, 3500


def trained() -> Run:
    dataset, spn = load_sample("known"), SAMPLES["known"].drawing
    assert spn is not None
    return train(prepare(spn, dataset, Choices(), SplitSettings()), Settings(tol=1e-4))


def frames(run: Run) -> list[Image.Image]:
    pictures = []
    font = ImageFont.load_default(size=22)
    for record in run.solution.history:
        drawing = Image.open(io.BytesIO(to_png(run.spn, beta=record.beta, scale=1.5))).convert("RGB")
        height = round(drawing.height * WIDTH / drawing.width)
        frame = Image.new("RGB", (WIDTH, height + HEAD), "white")
        frame.paste(drawing.resize((WIDTH, height), Image.Resampling.LANCZOS), (0, HEAD))
        gap = "unknown" if record.gap > 1e6 else percent(record.gap)
        words = f"iteration {record.iteration}   objective {record.objective:.2f}   gap {gap}"
        words += f"   pruned {len(record.pruned)} of {len(record.beta)}"
        ImageDraw.Draw(frame).text((16, 10), words, fill="#31333f", font=font)
        pictures.append(frame.quantize(64))
    return pictures


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw a training as an animation.")
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    first, *others = frames(trained())
    hold = [HOLD_MS] * len(others) + [LAST_MS]
    first.save(given.file, save_all=True, append_images=others, duration=hold, loop=0, optimize=True)


if __name__ == "__main__":
    main()
