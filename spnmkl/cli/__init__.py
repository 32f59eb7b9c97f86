"""The command line: its arguments, its commands, and what the terminal shows."""
