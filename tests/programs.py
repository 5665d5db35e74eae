"""Programs that stand in for others: a few lines of shell, put where PATH finds them."""


def put_program(folder, name, lines):
    """Write a program in a folder, which is made where it is not there; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(lines if lines.startswith("#!") else f"#!/bin/sh\n{lines}\n")
    program.chmod(0o755)
    return program
