"""The one training: settings, checks, preparation, kernels, weights, scores, and predictions from them."""
