"""What reconstructing an image over ranks tells: pure functions of its table."""
