"""Presentation of what analysis found: tables, figures, text. Computes nothing itself."""
