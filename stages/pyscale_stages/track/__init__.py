"""Tracks cells over time from their labels, with laptrack, by overlap or with TrackMate.

`stage` is what a task runs; `stitch` joins windows; `agreement` judges the result; `exports` and
`export_trackmate` write it for other tools.
"""
