"""What a tab predicts with, and what came of it (no Streamlit here)."""

from __future__ import annotations

from dataclasses import dataclass, field

from spnmkl.data import Table
from spnmkl.training.predict import Match, Predictions, Predictor, Tick
from spnmkl.ui.state.apart import apart
from spnmkl.ui.state.uploaded_files import Readings


@dataclass
class Predicting:
    """The model and the rows of the Predict page.

    Attributes
    ----------
    loaded : a model from a file; `from_file` says whether it is used, and not the run that the pages show.
    rows : the new rows.
    accepted : whether columns whose names are nearly those of training are taken for them.
    readings : how files of rows are read, where that is not as it was guessed.
    uploads : how often the uploader of rows was emptied.
    """

    loaded: Predictor | None = None
    from_file: bool = False
    rows: Table | None = None
    accepted: bool = False
    readings: Readings = field(default_factory=dict)
    uploads: int = 0
    _model_id: str | None = None
    _result: tuple[object, Table, bool, Predictions] | None = None

    def load(self, id: str, name: str, data: bytes) -> bool:
        """Use the model of a file; False where it is the one that was loaded last."""
        if id == self._model_id:
            return False
        self.loaded, self.from_file, self._model_id = apart(name, Predictor.from_file, name, data), True, id
        return True

    def take(self, rows: Table | None) -> None:
        """Other rows to predict."""
        if rows is None or self.rows is None or rows.frame is not self.rows.frame:
            self.rows, self.accepted, self._result = rows, False, None

    def predict(self, predictor: Predictor, match: Match, tick: Tick | None = None) -> Predictions:
        """The predictions of the rows, which are kept until the model or the rows change."""
        assert self.rows is not None
        if self._result is not None:
            model, rows, accepted, found = self._result
            if model is predictor.model and rows is self.rows and accepted == self.accepted:
                return found
        found = predictor.predict(match, tick)
        self._result = predictor.model, self.rows, self.accepted, found
        return found
