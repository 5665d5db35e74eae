"""The viewer: runs, references and tables side by side, a column each, against a chosen base."""
