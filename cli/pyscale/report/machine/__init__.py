"""Report of the machine: its storage, decompression and compute kernels."""
