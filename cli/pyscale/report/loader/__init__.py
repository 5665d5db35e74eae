"""Report of loading patches."""
