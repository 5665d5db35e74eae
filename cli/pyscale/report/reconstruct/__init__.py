"""Report of reconstructing an image over ranks."""
