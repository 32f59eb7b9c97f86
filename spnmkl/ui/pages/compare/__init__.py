"""The Compare page: methods on the same folds, and the guided experiment."""
