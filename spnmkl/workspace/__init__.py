"""The workspace on disk: projects with drawings, data, runs and comparisons, in a database with files beside it."""
