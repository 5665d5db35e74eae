"""Report of a grid of points: one device against another, by the size of the image."""
