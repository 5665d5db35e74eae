"""Validation of an installation: expected results, a run's results, verdicts."""
