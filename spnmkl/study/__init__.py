"""Methods against each other on the same folds, with tests of the differences."""
