"""The Projects page: everything that the workspace keeps."""
