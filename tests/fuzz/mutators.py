"""Ways to damage an input: each takes bytes and a source of chance, and gives other bytes."""

import copy
import io
import json
import re
from collections.abc import Callable
from contextlib import suppress
from random import Random

import tifffile

Mutator = Callable[[bytes, Random], bytes]

HOSTILE = (
    *("nan", "inf", "-inf", "Infinity", "1e999", "-5", "0", "-0.0", "1e-320", "0x10", "1_000"),
    *("9" * 30, "9" * 5_000, str(2**31), str(2**63), str(2**64), "1.5", "true", "null", "none"),
    *("", " ", "-", "٣", "é", "\0", "\x1b[31m", "a\nb", "a\tb", "a,b", '"', "'", "\\", "x" * 5_000),
    *("../../x", "%s%n", "{count}", "$(id)", "`id`", "<img onerror=x>", "=cmd|x", "[[[]]]", "{}"),
    *("1970-01-01", "9999-12-31T23:59:59", "0001-01-01", "2026-02-30", "99-99:99:99"),
)
"""Words that stand where another was expected."""
_WORD = re.compile(rb"[\w.+-]+")


def flips(data, random):
    """Other bytes at a few places."""
    damaged = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4, 16))):
        damaged[random.randrange(len(data))] = random.choice(
            (0, 1, 0x7F, 0xFF, random.randrange(256))
        )
    return bytes(damaged)


def cut(data, random):
    """The beginning alone, as a broken copy leaves it."""
    return data[: random.randrange(len(data))]


def words(data, random):
    """Other words, most often numbers, at a few places."""
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        found = list(_WORD.finditer(data))
        numbers = [word for word in found if word[0][:1].isdigit()]
        if found:
            word = random.choice(numbers if numbers and random.random() < 0.7 else found)
            own = random.choice((random.choice(HOSTILE).encode(), random.choice(found)[0]))
            data = data[: word.start()] + own + data[word.end() :]
    return data


def lines(data, random):
    """Lines that are left out, told twice or in another order."""
    own = data.split(b"\n")
    at, other = random.randrange(len(own)), random.randrange(len(own))
    action = random.choice(("leave out", "tell twice", "swap"))
    if action == "leave out":
        del own[at]
    elif action == "tell twice":
        own.insert(other, own[at])
    else:
        own[at], own[other] = own[other], own[at]
    return b"\n".join(own)


def tree(data, random):
    """Values of JSON that are left out, of another kind, or another's; words where it is none."""
    try:
        told = json.loads(data)
    except ValueError:
        return words(data, random)
    places = list(_places(told))
    for _ in range(random.choice((1, 1, 2)) if places else 0):
        (holder, key), (other, elsewhere) = random.choice(places), random.choice(places)
        with suppress(LookupError):
            if random.random() < 0.3:
                del holder[key]
            else:
                odd = (None, [], {}, "", "x", -1, 0, 0.5, True, 10**30, 1e308, float("nan"))
                holder[key] = random.choice((*odd, copy.deepcopy(other[elsewhere])))
    return json.dumps(told).encode()


def _places(told):
    """Every value in JSON, as what holds it and its key there."""
    pairs = told.items() if isinstance(told, dict) else enumerate(told)
    for key, value in pairs:
        yield told, key
        if isinstance(value, dict | list):
            yield from _places(value)


def tags(data, random):
    """Other kinds, counts and values of tags of one page of a TIFF; flips where it is none."""
    damaged = bytearray(data)
    try:
        with tifffile.TiffFile(io.BytesIO(data)) as tiff:
            found = list(random.choice(list(tiff.pages)).aspage().tags)
            order = "little" if tiff.byteorder == "<" else "big"
    except tifffile.TiffFileError:
        return flips(data, random)
    for _ in range(random.choice((1, 1, 2, 4))):
        tag = random.choice(found)
        at = random.choice((tag.offset, tag.offset + 2, tag.offset + 4, tag.valueoffset))
        size = random.choice((2, 4))
        value = random.choice(
            (0, 1, 2, 3, 5, 8, 255, 65_535, 2**31, 2**32 - 1, random.randrange(400))
        )
        damaged[at : at + size] = (value % 256**size).to_bytes(size, order)
    return bytes(damaged)


OF_TIFF = (flips, cut, tags, tags)
OF_TEXT = (flips, cut, words, words, lines, tree, tree)
