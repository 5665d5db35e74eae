"""What others measured, with its source: to be shown beside one's own results."""
