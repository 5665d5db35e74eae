"""Findings of a grid of points: times by size, one device against another, and its ceiling.

A *point* is one combination of a grid's axes, a *series* the points that differ only in the axis
that results are drawn against, *versus* the axis whose other values are compared with its first.
"""
