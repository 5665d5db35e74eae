"""Findings of reconstructing an image over ranks: pure functions of its table."""
