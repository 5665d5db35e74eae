"""Plots, declared once: charts/ draws them on the page, figures/ in print. Draws nothing itself."""
