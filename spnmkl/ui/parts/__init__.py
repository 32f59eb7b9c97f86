"""What several pages show: the canvas, dialogs, progress, settings."""
