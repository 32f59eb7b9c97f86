"""Bad inputs made from good ones: bytes, JSON and the insides of archives, cut, repeated, exchanged, overwritten."""

from __future__ import annotations

import gzip
import io
import json
import math
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Any

LARGEST = 200_000  # bytes of an input
ODD_BYTES = (
    *(
        b"",
        b"\0",
        b"\xff",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\n",
        b"\r",
        b"\t",
        b",",
        b";",
        b'"',
        b"'",
        b"{",
        b"}",
        b"[[",
    ),
    *(b"nan", b"inf", b"-0", b"1e999", b"99999999999999999999", b"-1", b"=1+1", b"\\", b"%", b"#", b"\x80\x04", b":"),
    *(b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0" * 8, b"PK\x03\x04", b"\x93NUMPY", b"PAR1", "β\u202e".encode()),
)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 3, 2**31, 2**63, 2**70, -(2**70), 0.5, -0.0, 1e308, 1e-308, math.nan, math.inf),
    *("", "x", "0", "nan", "β\u202e", "a" * 3000, "\ud800", "__class__", "../../x", [], {}, [[]], [None], {"": {}}),
    *([0] * 50, {"id": "x", "kind": "sum"}, [["a", "b"], ["b", "a"]], {"__array__": "x"}),
)


def mutated_bytes(random: Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """A few pieces of some bytes changed."""
    found = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        a, b = sorted(random.randrange(len(found) + 1) for _ in range(2))
        b = min(b, a + random.choice((1, 4, 64, len(found))))
        kind = random.randrange(7)
        if kind == 0:
            del found[a:b]
        elif kind == 1:
            found[a:b] = found[a:b] * random.choice((2, 3, 100))
        elif kind == 2:
            found[a:a] = random.choice(ODD_BYTES)
        elif kind == 3:
            odd = random.choice(ODD_BYTES)
            found[a : a + len(odd)] = odd
        elif kind == 4 and found:
            found[a % len(found)] ^= 1 << random.randrange(8)
        elif kind == 5 and others:
            found[a:] = random.choice(others)[a:]
        else:
            found[a:b] = random.randbytes(min(b - a, 64))
        del found[LARGEST:]
    return bytes(found)


def mutated_json(random: Random, value: Any) -> Any:
    """Some values of a document exchanged for odd ones, for others of it, or taken away."""
    for _ in range(random.choice((1, 1, 2, 4))):
        places = list(_places(value))
        holder, key = random.choice(places) if places else ([value], 0)
        kind = random.randrange(5)
        if kind == 0:
            del holder[key]
        elif kind == 1 and len(places) > 1:
            other, its_key = random.choice(places)
            holder[key] = json.loads(json.dumps(other[its_key]))
        elif kind == 2 and isinstance(holder, list) and len(holder) < 5000:
            holder.extend(holder[key : key + 1] * random.choice((1, 2, 500)))
        elif kind == 3 and isinstance(holder, dict):
            holder[random.choice(("x", "p", "id", "kind", "nodes", "version"))] = random.choice(ODD_VALUES)
        else:
            holder[key] = random.choice(ODD_VALUES)
        if len(json.dumps(value)) > LARGEST:
            break
    return value


def _places(value: Any) -> Any:
    """Where a value stands: in what, and under which key."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield value, key
        yield from _places(part)


def mutated_text(random: Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """JSON where it is that, else bytes."""
    if random.random() < 0.7:
        with suppress(ValueError, RecursionError):
            return json.dumps(mutated_json(random, json.loads(data))).encode("utf-8", "surrogatepass")
    return mutated_bytes(random, data, others)


def mutated_zip(random: Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """A member changed and packed anew, or the archive itself."""
    if random.random() < 0.25:
        return mutated_bytes(random, data, others)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    names = list(members)
    name = random.choice(names)
    kind = random.randrange(8)
    if kind == 0:
        del members[name]
    elif kind == 1:
        members[random.choice((*names, "x", "../x", "/etc/x", "x" * 300))] = members[name]
    elif kind == 2:
        members[name] = members[random.choice(names)]
    else:
        members[name] = mutated_text(random, members[name], list(members.values()))
    file = io.BytesIO()
    packing = random.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(file, "w", packing) as archive:
        for each, content in members.items():
            archive.writestr(each, content)
    return file.getvalue()


def mutated_gzip(random: Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """What is packed changed and packed anew, or the packing itself."""
    if random.random() < 0.25:
        return mutated_bytes(random, data, others)
    return gzip.compress(mutated_bytes(random, gzip.decompress(data)), 1)


def mutated_words(random: Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Arguments, one a line: some left out, repeated, exchanged or made odd."""
    words = data.split(b"\n")
    for _ in range(random.choice((1, 2, 4))):
        at = random.randrange(len(words) + 1)
        kind = random.randrange(4)
        if kind == 0:
            del words[at : at + 1]
        elif kind == 1:
            words[at:at] = [random.choice(random.choice(others).split(b"\n"))]
        elif kind == 2:
            words[at : at + 1] = [random.choice(ODD_BYTES)]
        elif at < len(words):
            words[at] = mutated_bytes(random, words[at])[:300]
    return b"\n".join(words)
