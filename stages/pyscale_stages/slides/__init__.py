"""Slides that patches are read from, and made-up ones."""
