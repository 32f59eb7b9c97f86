"""No test sees the workspace of the person who runs it."""

import os
import tempfile

_FOLDER = tempfile.TemporaryDirectory(prefix="spnmkl-tests-", ignore_cleanup_errors=True)  # goes with the process
os.environ["SPNMKL_WORKSPACE"] = _FOLDER.name
os.environ.pop("SPNMKL_DATABASE_URL", None)
