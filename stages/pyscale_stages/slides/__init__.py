"""Slides and stacks that patches are read from, and made-up ones."""
