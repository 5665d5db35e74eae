"""Parameters of the stages that measure the machine, by which they do everything in little time."""

SMALL = {
    # No size is a multiple of a block, and the files hold unequal numbers of particles.
    "storage": {
        "particles": 23,
        "particle_side_px": 18,
        "particle_files": 3,
        "movies": 2,
        "movie_frames": 2,
        "movie_side_px": 64,
        "small_files": 7,
        "small_file_bytes": 100,
        "readers": [1, 2],
        "block_bytes": 4096,
        "repeats": 1,
    },
    "decompress": {"frames": 3, "height_px": 64, "width_px": 96, "repeats": 2, "threads": [1, 2]},
    "kernels": {
        "repeats": 2,
        "map_px": 48,
        "cutoffs": 4,
        "micrographs": 1,
        "micrograph_px": 160,
        "template_px": 25,
        "template_angles": 16,
        "particle_px": 24,
        "particles": 6,
        "particle_batch": 4,
        "poses": 12,
        "marginal_poses": 2,
        "transfer_max_bytes": 1 << 14,
        "allocation_bytes": 1 << 16,
    },
}
FEW = {
    "storage": {"movie_formats": ["mrc"], "movies": 1, "readers": [1]},
    "decompress": {"codecs": ["mrc", "tiff_zlib"], "repeats": 1, "threads": [1]},
    "kernels": {"tests": ["allocation", "disk_single_linear10_max_C1"]},
}
"""The same with few tests."""
