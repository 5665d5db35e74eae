"""A user's own truth, read for the checks of stages: label images and Cell Tracking Challenge."""
