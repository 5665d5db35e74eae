"""Measuring it: the main path, from the first trial to the report."""
