"""What a grid of points tells: times by size, one device against another, and where that ends.

A *point* is one combination of a grid's axes, a *series* the points that differ only in the axis
that results are drawn against, *versus* the axis whose other values are compared with its first.
"""
