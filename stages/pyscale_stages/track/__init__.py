"""Tracks cells over time from their labels, with laptrack, by overlap or with TrackMate."""
