"""Measures what a filesystem can do: movies, particles, small files, many readers at once."""
