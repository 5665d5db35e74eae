"""Finds touching and neighbouring cells in label images."""
