"""The Inspect page, a module a tab."""
