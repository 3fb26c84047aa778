"""The bytes of docs/PROTOCOL.md, written from that page and not from src/wire.

Encoders take what they are given, true or not: lies are what they are for."""

import json
import struct

import xxhash

MAGIC = b"STRT"
HEADER = struct.Struct("<4sBBHIHHIIQQQII")  # All but the header's own hash.
HEADER_BYTES = HEADER.size + 8
VERSION = 1

TYPES = dict(
    hello=1, welcome=2, refuse=3, heartbeat=8, probe=9, probe_report=10, ack=16, control=17,
    enroll=18, enrolled=19, push=32, pull=40, values=41, rows_push=48, rows_pull=49,
    rows_values=50, broadcast=56, clock=57, advanced=58, late=59, feed=60, due=61, want=62,
    delta=64, mark=65, report=66, barrier=67, copy=68, sum=69, result=70, whole=71,
    snapshot_begin=72, snapshot_chunk=73, snapshot_end=74, offer=75, note=76, bye=80,
)
NAMES = {number: name for name, number in TYPES.items()}
ROLES = dict(worker=2, server=4, relay=8, operator=16)
OPERATIONS = dict(
    site=1, lane=2, table=3, join=4, leave=5, report=6, status=7, save=8, handshake=9, copy=10,
    word=11, plan=12, drop=13,
)
ANSWER = 0x4000
REFUSALS = dict(busy=5, lost=9)
LATE = {1: "late", 2: "not a member", 3: "not finite", 4: "ahead", 5: "shape"}
UNNUMBERED = {"hello", "welcome", "refuse", "heartbeat", "probe", "probe_report", "ack", "bye"}


def xxh3(data):
    return xxhash.xxh3_64_intdigest(data)


class Frame:
    """One frame as it came."""

    def __init__(self, fields, body):
        (_, _, kind, self.flags, _, self.table, self.codec, self.chunk, self.epoch, self.clock,
         self.sequence, _, self.origin, self.weight) = fields
        self.type = NAMES[kind]
        self.body = body


def frame(kind, body=b"", **fields):
    """A sealed frame. Every field of the header can be given, the hashes too."""
    f = dict(magic=MAGIC, version=VERSION, type=TYPES.get(kind, kind), flags=0,
             body_bytes=len(body), table=0, codec=0, chunk=0, epoch=0, clock=0, sequence=0,
             body_check=xxh3(body), origin=0, weight=0)
    unknown = set(fields) - set(f) - {"header_check"}
    assert not unknown, unknown
    f.update({k: v for k, v in fields.items() if k != "header_check"})
    head = HEADER.pack(f["magic"], f["version"], f["type"], f["flags"], f["body_bytes"],
                       f["table"], f["codec"], f["chunk"], f["epoch"], f["clock"], f["sequence"],
                       f["body_check"], f["origin"], f["weight"])
    return head + struct.pack("<Q", fields.get("header_check", xxh3(head))) + body


def read_frame(read):
    """Read one frame with @read(count); checks what a receiver must check."""
    head = read(HEADER_BYTES)
    fields = HEADER.unpack(head[:HEADER.size])
    assert fields[0] == MAGIC and fields[1] == VERSION and fields[2] in NAMES, fields
    assert struct.unpack("<Q", head[HEADER.size:])[0] == xxh3(head[:HEADER.size])
    body = read(fields[4])
    assert fields[11] == xxh3(body)
    return Frame(fields, body)


def field(tag, data, critical=True):
    return struct.pack("<HH", tag | (0x8000 if critical else 0), len(data)) + data


def read_fields(data, count):
    out = {}
    for _ in range(count):
        tag, size = struct.unpack_from("<HH", data)
        out[tag & 0x7FFF] = data[4:4 + size]
        data = data[4 + size:]
    assert not data
    return out


def window(base, bits=()):
    """All up to @base, and @bits beyond it."""
    words = [0] * ((max(bits) - base - 1) // 64 + 1 if bits else 0)
    for n in bits:
        words[(n - base - 1) // 64] |= 1 << (n - base - 1) % 64
    return struct.pack("<QH6x", base, len(words)) + struct.pack(f"<{len(words)}Q", *words)


def read_window(data):
    base, words = struct.unpack_from("<QH6x", data)
    bits = struct.unpack_from(f"<{words}Q", data, 16)
    return base, [base + 1 + 64 * w + i for w in range(words) for i in range(64)
                  if bits[w] >> i & 1]


def hello(role, site, name, incarnation, *, stream=(0, 1), peer=0, send_base=0, received=None,
          session=0, versions=(VERSION, VERSION)):
    fields = [field(1, site.encode()), field(2, name.encode()), field(3, received or window(0))]
    if session:
        fields.append(field(4, struct.pack("<Q", session)))
    return struct.pack("<BBBBHHQQQ", *versions, ROLES[role], len(fields), *stream, incarnation,
                       peer, send_base) + b"".join(fields)


def read_hello(body):
    low, high, role, count, _, streams, incarnation, peer, base = struct.unpack_from("<BBBBHHQQQ",
                                                                                     body)
    fields = read_fields(body[32:], count)
    assert 1 <= low <= high
    return dict(versions=(low, high), role=role, streams=streams, incarnation=incarnation,
                peer=peer, send_base=base, site=fields[1].decode(), name=fields[2].decode(),
                received=read_window(fields[3]))


def read_refuse(body):
    code, size = struct.unpack_from("<IH2x", body)
    return code, body[8:8 + size].decode()


def heartbeat(sent_ns, echo=0, held=0, load=0):
    return struct.pack("<qqqIi", sent_ns, echo, held, load, 0)


def control(operation, call, fields):
    text = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    return struct.pack("<HHI", operation, 1, call) + field(1, text)


def read_control(body):
    operation, count, call = struct.unpack_from("<HHI", body)
    return operation, call, json.loads(read_fields(body[8:], count)[1])


def push_tail(incarnation, number):
    return struct.pack("<QQ", incarnation, number)


def pull(chunks):
    return struct.pack(f"<I{len(chunks)}I", len(chunks), *chunks)


def read_late(body):
    reason, _, clock = struct.unpack("<IIQ", body)
    return LATE[reason], clock


def shard_of(table, chunk, shards):
    """Chunk c of table t belongs to this shard."""
    from math import gcd

    step = max(5 * shards // 8, 1)
    while gcd(step, shards) != 1:
        step += 1
    return (table * step + chunk) % shards


def stream_of(table, chunk, streams):
    return (((((table & 0x7FFF) + chunk) * 2654435769) & 0xFFFFFFFF) * streams) >> 32
