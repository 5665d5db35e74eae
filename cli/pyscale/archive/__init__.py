"""A run as one file, to attach to a support ticket; `archive.py` makes it."""
