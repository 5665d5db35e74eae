"""What loading patches told: rates, diversity, and which settings to take."""
