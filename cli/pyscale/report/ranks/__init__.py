"""What a report says of ranks that work together: loading patches, and reconstructing an image."""
