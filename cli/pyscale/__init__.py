"""pyscale measures how a bioimage pipeline scales, and says what holds it back."""

DISTRIBUTION = "pyscale-bench"
"""Name of the installed distribution; the package index knows another project as pyscale."""
