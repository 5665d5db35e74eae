"""Processes of one trial that meet: who they are, and how they wait for each other."""
