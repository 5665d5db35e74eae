"""A run as one file, to attach to a paper or to a support ticket.

`archive.py` makes it; `names.py`, `mask.py` and `masking.py` take names and paths out of it.
"""
