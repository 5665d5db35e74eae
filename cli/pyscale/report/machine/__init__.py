"""What a report says of the machine itself: its storage, decompression and compute kernels."""
