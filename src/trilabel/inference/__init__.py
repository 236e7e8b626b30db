"""Using a trained model: scores, metrics and class activation maps."""
