"""Charts in Altair, from plain tables."""
