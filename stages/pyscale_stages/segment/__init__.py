"""Segments cells with Cellpose, version 3 or 4."""
