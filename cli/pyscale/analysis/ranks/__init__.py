"""Findings of ranks that work together: loading patches, and reconstructing an image."""
