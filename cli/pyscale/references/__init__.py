"""Results of others with their sources, to show beside one's own."""
