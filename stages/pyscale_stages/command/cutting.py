"""Cuts frames out of a movie, and joins movies of windows to one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pyscale_stages.movie import Movie, Pixels
from pyscale_stages.moviewriter import write_pages


def cut(movie: Movie, window: tuple[int, int], path: Path) -> Path:
    """Write the frames of a window to a TIFF, in bounded memory; return its path."""
    _write(path, [(movie, window)])
    return path


def join_frames(movies: Sequence[Movie], path: Path) -> None:
    """Write all frames of movies of one shape, one after the other."""
    _write(path, [(movie, (0, movie.n_frames)) for movie in movies])


def _write(path: Path, parts: Sequence[tuple[Movie, tuple[int, int]]]) -> None:
    first = parts[0][0]
    frames = sum(stop - start for _, (start, stop) in parts)
    channels = (first.n_channels,) if first.n_channels > 1 else ()
    write_pages(path, _pages(parts), (frames, *channels, *first.shape_yx), first.dtype)


def _pages(parts: Sequence[tuple[Movie, tuple[int, int]]]) -> Iterator[Pixels]:
    for movie, window in parts:
        for frame in movie.frames(*window):
            yield from frame.reshape(-1, *movie.shape_yx)
