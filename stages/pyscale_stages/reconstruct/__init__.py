"""Stage: reconstruction of one image by several ranks, its components timed apart."""
