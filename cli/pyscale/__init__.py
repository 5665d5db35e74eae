"""pyscale measures how a bioimage pipeline scales, and says what holds it back."""
