"""What a report says of reconstructing an image over ranks."""
