"""What a report says of a validation: whether the installation computes what it should."""
