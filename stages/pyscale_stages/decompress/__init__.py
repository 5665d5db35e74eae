"""Measures how fast a machine decodes movies of electron cameras."""
