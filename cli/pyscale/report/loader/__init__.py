"""What a report says of loading patches."""
