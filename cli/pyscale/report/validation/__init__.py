"""Report of a validation: whether the installation computes what it should."""
