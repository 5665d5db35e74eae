"""Tracks cells: laptrack, or its steps on sparse graphs, links by overlap, or TrackMate."""
