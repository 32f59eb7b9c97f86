"""What is kept: runs and whole projects, as files that anyone may have written."""
