"""Commands of `pyscale`: what each asks for, and what it says."""
