"""Synthetic movies whose every truth is known."""
