"""Findings of loading patches: rates, diversity, and the settings to choose."""
