"""Tracks cells over time from their labels, with laptrack, by overlap or with TrackMate.

`stage` is what a task runs; `stitch` joins windows; `agreement` and `truth` judge the result;
`export_*` write it for other tools.
"""
