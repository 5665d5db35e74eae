"""Tracks cells over time from their labels, with laptrack or TrackMate.

`stage` is what a task runs; `stitch` joins windows; `compare` and `truth` judge the result.
"""
