"""What a core dump of a live process would contain, and what of a private key must not be in it."""

import base64
import hashlib
import re

MEBIBYTE = 1 << 20


def regions(pid):
    """(start, end) of all memory that a dump may write: not what says "dd", cannot be read, belongs
    to a device or has never been touched."""
    found = []
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as lines:
        for line in lines:
            header = re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \S+ *(.*)", line)
            if header:
                start, end, touched, name = int(header[1], 16), int(header[2], 16), 0, header[3]
            elif line.startswith(("Rss:", "Swap:")):
                touched += int(line.split()[1])
            elif line.startswith("VmFlags:"):
                flags = set(line.split()[1:])
                if touched and "rd" in flags and not flags & {"dd", "io", "pf"} \
                        and name not in ("[vvar]", "[vsyscall]"):
                    found.append((start, end))
    return found


def memory(pid):
    """That memory, in pieces that overlap."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        for start, end in regions(pid):
            tail = b""
            for at in range(start, end, MEBIBYTE):
                try:
                    mem.seek(at)
                    piece = mem.read(min(MEBIBYTE, end - at))
                except OSError:  # It may be unmapped meanwhile.
                    break
                yield tail + piece
                tail = piece[-128:]


def secrets(path):
    """What gives an Ed25519 key away: its bytes, its text, and what signing makes of it."""
    text = path.read_text().splitlines()[1].encode()
    seed = base64.b64decode(text)[-32:]
    scalar = bytearray(hashlib.sha512(seed).digest())
    scalar[0] &= 248
    scalar[31] = scalar[31] & 127 | 64
    return {"bytes": seed, "text": text[-40:], "scalar": bytes(scalar[:32]),
            "prefix": bytes(scalar[32:])}


def found(pieces, wanted):
    return {name for piece in pieces for name, secret in wanted.items() if secret in piece}
