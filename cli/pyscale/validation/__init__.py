"""Whether an installation computes what it should: what is expected, what a run gave, verdicts."""
