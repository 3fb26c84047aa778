"""A member of Strait in Python: connections, sessions, operations, updates. Honest unless told
otherwise: raw() sends whatever it is given."""

import os
import random
import select
import socket
import ssl
import struct
import time

import wire

LIMIT_S = 60


class Ended(Exception):
    """The other side ended it: code and text if it said so."""

    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")
        self.code, self.text = code, text


def dial(address, cert=None, name=None, alpn="strait/1"):
    """A connected socket: plain for tcp://HOST:PORT, else TLS 1.3 with a certificate from the
    folder @cert (NAME.crt, NAME.key, ca.crt)."""
    scheme, _, where = address.partition("://")
    host, _, port = where.rpartition(":")
    s = socket.create_connection((host.strip("[]"), int(port)), timeout=LIMIT_S)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if scheme == "tls":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # Members check the identity in the SAN.
        context.load_verify_locations(os.path.join(cert, "ca.crt"))
        own = os.path.join(cert, name)
        context.load_cert_chain(own + ".crt", own + ".key")
        context.set_alpn_protocols([alpn] if alpn else [])
        s = context.wrap_socket(s)
        uris = [v for k, v in s.getpeercert()["subjectAltName"] if k == "URI"]
        assert any(u.startswith("strait://server/") for u in uris), uris
        assert not alpn or s.selected_alpn_protocol() == alpn
    return s


class Peer:
    """One session of one stream with whoever is at an address."""

    def __init__(self, address, role="worker", site="home", name="p0", cert=None, greet=True,
                 incarnation=None, session=0, claims=None, **hello):
        self.address, self.cert = address, cert
        self.role, self.site, self.name = role, site, name
        self.incarnation = incarnation or random.getrandbits(63) | 1
        self.session = session
        self.sequence = 0
        self.call = 0
        self.buffer = b""
        self.acked, self.acked_bits = 0, []
        self.received = set()  # Beyond .received_base.
        self.received_base = 0
        self.answers, self.frames, self.acks = {}, [], []
        self.welcome = None
        self.mute = False  # Neither heartbeats nor acknowledgements.
        self.sock = dial(address, cert, name)
        if greet:
            self.greet(claims, **hello)

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # Bytes.

    def raw(self, data):
        """Send these bytes, whatever they are. Reads meanwhile: the other side may need room."""
        view = memoryview(data)
        self.sock.settimeout(LIMIT_S)
        while view:
            try:
                n = self.sock.send(view[:1 << 18])
            except (BrokenPipeError, ConnectionResetError, ssl.SSLError) as e:
                self.drain()
                raise Ended(None, str(e)) from e
            view = view[n:]

    def read(self, count, limit_s=LIMIT_S):
        end = time.monotonic() + limit_s
        while len(self.buffer) < count:
            self.sock.settimeout(max(end - time.monotonic(), 0.001))
            try:
                data = self.sock.recv(1 << 18)
            except (ConnectionResetError, ssl.SSLError) as e:
                if isinstance(e, (ssl.SSLWantReadError,)):
                    continue
                raise Ended(None, str(e)) from e
            if not data:
                raise Ended(None, "closed")
            self.buffer += data
        out, self.buffer = self.buffer[:count], self.buffer[count:]
        return out

    # Sessions.

    def greet(self, claims=None, **hello):
        role, site, name = claims or (self.role, self.site, self.name)
        hello.setdefault("session", self.session)
        self.raw(wire.frame("hello", wire.hello(role, site, name, self.incarnation, **hello)))
        f = wire.read_frame(self.read)
        if f.type == "refuse":
            raise Ended(*wire.read_refuse(f.body))
        assert f.type == "welcome", f.type
        self.welcome = wire.read_hello(f.body)
        assert self.welcome["versions"] == (1, 1)

    def next(self, limit_s=LIMIT_S):
        """Read a frame and do what a member must do with it."""
        buffer = self.buffer
        try:
            f = wire.read_frame(lambda n: self.read(n, limit_s))
        except TimeoutError:
            self.buffer = buffer + self.buffer if buffer and not self.buffer else self.buffer
            raise
        if f.type == "bye" or f.type == "refuse":
            raise Ended(*wire.read_refuse(f.body))
        if f.type == "heartbeat" and not self.mute:
            sent = struct.unpack_from("<q", f.body)[0]
            self.raw(wire.frame("heartbeat", wire.heartbeat(time.monotonic_ns(), sent)))
        elif f.type == "ack":
            self.acked, self.acked_bits = wire.read_window(f.body)
            self.acks.append(time.monotonic())
        if f.sequence:
            new = f.sequence > self.received_base and f.sequence not in self.received
            self.received.add(f.sequence)
            while self.received_base + 1 in self.received:
                self.received_base += 1
                self.received.discard(self.received_base)
            if not self.mute:
                self.raw(wire.frame("ack", wire.window(self.received_base, sorted(self.received))))
            if new:
                self.take(f)
        return f

    def take(self, f):
        if f.type == "control":
            operation, call, fields = wire.read_control(f.body)
            self.answers[call] = fields
        else:
            self.frames.append(f)

    def until(self, condition, limit_s=LIMIT_S):
        """Read until that is so."""
        end = time.monotonic() + limit_s
        while not condition():
            self.next(max(end - time.monotonic(), 0.01))
        return condition()

    def drain(self):
        """Read what is still there: perhaps the reason why it ended."""
        while True:
            self.next(2)

    def ended(self, limit_s=LIMIT_S):
        """Read until the other side ends it; return code and text."""
        try:
            self.until(lambda: False, limit_s)
        except Ended as e:
            self.close()
            return e.code, e.text

    def send(self, kind, body=b"", **fields):
        """A numbered frame. Returns its number."""
        if "sequence" not in fields:
            self.sequence += 1
            fields["sequence"] = self.sequence
        self.raw(wire.frame(kind, body, **fields))
        return fields["sequence"]

    def settled(self, limit_s=LIMIT_S):
        """All that was sent is acknowledged."""
        self.until(lambda: self.acked >= self.sequence, limit_s)

    def hear(self, kind, limit_s=LIMIT_S):
        """The next frame of that type."""
        self.until(lambda: any(f.type == kind for f in self.frames), limit_s)
        found = next(f for f in self.frames if f.type == kind)
        self.frames.remove(found)
        return found

    # Operations.

    def begin(self, operation, **fields):
        self.call += 1
        number = wire.OPERATIONS.get(operation, operation)
        self.send("control", wire.control(number, self.call, fields.pop("raw", fields)))
        return self.call

    def end(self, call, limit_s=LIMIT_S):
        self.until(lambda: call in self.answers, limit_s)
        return self.answers.pop(call)

    def ask(self, operation, **fields):
        return self.end(self.begin(operation, **fields))

    def ok(self, operation, **fields):
        answer = self.ask(operation, **fields)
        assert "error" not in answer, answer
        return answer


class Worker(Peer):
    """A worker of a site with one lane, delivery pull."""

    def __init__(self, address, name="p0", rank=None, **options):
        super().__init__(address, "worker", name=name, **options)
        self.number = 0
        self.tables = {}
        if self.welcome:
            self.about = self.ok("site", **({} if rank is None else {"rank": rank}))
            self.rank = self.about["rank"]

    def table(self, name="model", rows=4, width=100, **more):
        fields = dict(name=name, rows=rows, width=width, **more)
        self.tables[name] = {**fields, "id": self.ok("table", **fields)["id"]}
        return self.tables[name]["id"]

    def join(self):
        return self.joined(self.join_begin())

    def join_begin(self, **more):
        return self.begin("join", rank=self.rank, tables=list(self.tables.values()), **more)

    def joined(self, call):
        answer = self.end(call)
        assert "error" not in answer, answer
        self.clock = answer["clock"]
        return self.clock

    def push(self, values, table=0, chunk=0, clock=None, weight=1, codec=0, payload=None,
             **header):
        """An update of a chunk, as little-endian float32."""
        self.number += 1
        payload = payload if payload is not None else struct.pack(f"<{len(values)}f", *values)
        return self.send("push", payload + wire.push_tail(self.incarnation, self.number),
                         table=table, chunk=chunk, clock=self.clock if clock is None else clock,
                         weight=weight, codec=codec, **header)

    def end_clock(self, clock=None):
        """All for this clock was sent."""
        n = self.send("clock", clock=self.clock if clock is None else clock)
        self.clock += clock is None
        return n

    def pull(self, chunks=(0,), table=0, clock=None):
        """Values as of the clock that is about to be computed, when the barrier allows."""
        self.send("pull", wire.pull(list(chunks)), table=table,
                  clock=self.clock if clock is None else clock)
        out = {}
        while len(out) < len(chunks):
            f = self.hear("values")
            out[f.chunk] = struct.unpack(f"<{len(f.body) // 4}f", f.body)
        return out

    def leave(self):
        return self.ok("leave")
