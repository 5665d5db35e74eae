"""Movies of electron cameras: synthetic counting frames and writers of the formats they come in."""
