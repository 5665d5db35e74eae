"""Findings of tests of a machine: each test, nodes compared, and the stages beside them."""
