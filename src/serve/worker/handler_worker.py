"""The worker of a Python handler: loads model.py, and runs predict() for the model server.

Started by the server with a socket (3), two regions of shared memory (4: what it is asked, 5: what
it answers) and the arguments FILE MAX PARENT. worker_message.h has the messages and the records of
tensors. Needs the standard library only; with numpy tensors are arrays, without they are lists.
"""

import asyncio
import importlib.util
import inspect
import json
import mmap
import os
import signal
import socket
import struct
import sys
import traceback

try:
    import numpy as np
except ImportError:
    np = None

MAGIC = 0x574C4459
RUN, READY, DONE, FAILED, REFUSED = 1, 2, 3, 4, 5
MESSAGE = struct.Struct("=IIQQ")  # magic, kind, sequence, size
HEAD = struct.Struct("=II")  # magic, count
RECORD = struct.Struct("=IIII8qQQQ")  # type, rank, name size, 0, dims, name at, at, size
LENGTH = struct.Struct("<I")  # of an element of BYTES
BYTES = 14
# By number, as in tensor.h: name, numpy's type, struct's.
TYPES = (None, ("BOOL", "?", "?"), ("UINT8", "u1", "B"), ("UINT16", "u2", "H"),
         ("UINT32", "u4", "I"), ("UINT64", "u8", "Q"), ("INT8", "i1", "b"), ("INT16", "i2", "h"),
         ("INT32", "i4", "i"), ("INT64", "i8", "q"), ("FP16", "f2", "e"), ("BF16", "u2", "H"),
         ("FP32", "f4", "f"), ("FP64", "f8", "d"), ("BYTES", "O", None))
NUMBERS = {t[0]: i for i, t in enumerate(TYPES) if t}
DTYPES = [t and np and np.dtype(t[1]) for t in TYPES]
FROM_DTYPE = {d: i for i, d in enumerate(DTYPES) if d is not None and i not in (11, BYTES)}
TEXT = 1000  # most bytes of a sentence


class InputMissing(ValueError, KeyError):
    """An input that the handler asked for and the request does not have."""

    def __str__(self):
        return self.args[0]


class Inputs(dict):
    """The inputs of a request by name."""

    def __missing__(self, name):
        raise InputMissing(f"input {name!r} is missing: the request has "
                           + (", ".join(map(repr, self)) or "none"))


def align(n):
    """Where the next values may begin."""
    return (n + 63) // 64 * 64


# ---- tensors out of bytes ----

def nest(flat, dims):
    """A flat list as lists in lists; a scalar has none."""
    if not dims:
        return flat[0]
    for size in reversed(dims[1:]):
        flat = [flat[i:i + size] for i in range(0, len(flat), size)] if size else \
            [[]] * (len(flat) or 0)
    return flat if all(dims[1:]) else [nest([], dims[1:]) for _ in range(dims[0])]


def texts(view):
    """The elements of BYTES."""
    found, at = [], 0
    while at < len(view):
        n, = LENGTH.unpack_from(view, at)
        at += 4
        found.append(bytes(view[at:at + n]))
        at += n
    return found


def read(kind, dims, view):
    """One tensor: a copy, which the handler may keep and change."""
    if np is None:
        flat = texts(view) if kind == BYTES else \
            list(struct.unpack(f"={len(view) // struct.calcsize('=' + TYPES[kind][2])}"
                               f"{TYPES[kind][2]}", view))
        return nest(flat, dims)
    if kind != BYTES:
        return np.frombuffer(view, DTYPES[kind]).reshape(dims).copy()
    array = np.empty(dims, object)
    array.reshape(-1)[:] = texts(view)
    return array


def take(region):
    """The inputs of a request."""
    _, count = HEAD.unpack_from(region, 0)
    inputs = Inputs()
    with memoryview(region) as view:
        for i in range(count):
            r = RECORD.unpack_from(region, HEAD.size + i * RECORD.size)
            name_at, at, size = r[12:]
            inputs[str(view[name_at:name_at + r[2]], "utf-8", "replace")] = \
                read(r[0], r[4:4 + r[1]], view[at:at + size])
    return inputs


# ---- tensors into bytes ----

def encoded(values):
    """Texts and bytes as elements of BYTES."""
    parts = []
    for value in values:
        if isinstance(value, str):
            value = value.encode()
        elif not isinstance(value, (bytes, bytearray, memoryview)):
            raise TypeError(f"an element is {type(value).__name__}, not a number or text")
        parts += LENGTH.pack(len(value)), value
    return b"".join(parts)


def flatten(value, dims, level=0):
    """The leaves of nested lists; `dims` gets their shape."""
    if isinstance(value, (list, tuple)):
        if level == len(dims):
            dims.append(len(value))
        elif level > len(dims) or dims[level] != len(value):
            raise ValueError("its lists have different lengths")
        return [leaf for item in value for leaf in flatten(item, dims, level + 1)]
    if level < len(dims):
        raise ValueError("its lists have different depths")
    return [value]


def plain(value, declared):
    """(type, dims, bytes) of numbers, texts and lists of them, without numpy."""
    if isinstance(value, memoryview) or hasattr(value, "typecode"):  # array.array
        value = memoryview(value).tolist()
    dims = []
    flat = flatten(value, dims)
    if declared and declared != BYTES:
        kind = declared
    elif all(isinstance(v, bool) for v in flat) and flat:
        kind = NUMBERS["BOOL"]
    elif all(isinstance(v, int) for v in flat) and flat:
        kind = NUMBERS["INT64"]
    elif all(isinstance(v, (int, float)) for v in flat):
        kind = NUMBERS["FP64"]
    else:
        return BYTES, dims, encoded(flat)
    return kind, dims, struct.pack(f"={len(flat)}{TYPES[kind][2]}", *flat)


def number(array):
    """The type of an array of numbers, and its dtype here."""
    if array.dtype.name == "bfloat16":
        return NUMBERS["BF16"], array.dtype
    dtype = array.dtype.newbyteorder("=")
    kind = FROM_DTYPE.get(dtype)
    if kind is None:
        raise TypeError(f"its type is {array.dtype}, which a tensor cannot have")
    return kind, dtype


def convert(name, value, declared):
    """(name, type, dims, array or bytes, size) of one output."""
    if value is None:
        raise TypeError("it is None")
    if np is None:
        kind, dims, data = plain(value, declared)
        return name, kind, dims, data, len(data)
    if hasattr(value, "detach"):  # a tensor of PyTorch
        value = value.detach().cpu().numpy()
    array = np.asarray(value)
    if array.dtype.kind in "OUS":
        if array is not value:  # arrays of texts drop zero bytes at the end of each
            array = np.asarray(value, object)
        flat = array.astype(object).reshape(-1).tolist()
        data = encoded(flat)
        return name, BYTES, array.shape, data, len(data)
    if declared and declared not in (BYTES, NUMBERS["BF16"]):
        array = array.astype(DTYPES[declared], copy=False)
    kind, dtype = number(array)
    return name, kind, array.shape, (array, dtype), array.size * dtype.itemsize


class Answer:
    """The region that answers are written to."""

    def __init__(self, fd, most):
        self.fd, self.most = fd, most
        self.region = mmap.mmap(fd, os.fstat(fd).st_size)

    def room(self, n):
        """The region, with at least n bytes."""
        if n > self.most:
            raise ValueError(f"the answer has {n} bytes: at most {self.most} are possible")
        if n > len(self.region):
            size = min(max(n, 2 * len(self.region)), self.most)
            if os.fstat(self.fd).st_size < size:
                os.ftruncate(self.fd, size)
            self.region = mmap.mmap(self.fd, size)
        return self.region

    def text(self, text):
        """Writes it; the number of bytes."""
        data = text.encode("utf-8", "replace")
        self.room(len(data))[:len(data)] = data
        return len(data)

    def tensors(self, outputs):
        """Writes what convert() gave; the number of bytes."""
        at = HEAD.size + len(outputs) * RECORD.size
        places = []
        for name, kind, dims, data, size in outputs:
            name = name.encode()
            places.append((name, kind, dims, data, size, at, align(at + len(name))))
            at = places[-1][6] + size
        region = self.room(at)
        HEAD.pack_into(region, 0, MAGIC, len(outputs))
        for i, (name, kind, dims, data, size, name_at, begin) in enumerate(places):
            RECORD.pack_into(region, HEAD.size + i * RECORD.size, kind, len(dims), len(name), 0,
                             *dims, *(0,) * (8 - len(dims)), name_at, begin, size)
            region[name_at:name_at + len(name)] = name
            if isinstance(data, bytes):
                region[begin:begin + size] = data
            elif size:
                array, dtype = data
                into = np.frombuffer(region, dtype, array.size, begin).reshape(array.shape)
                np.copyto(into, array)
        return at


# ---- the handler ----

def parameters(function):
    """How many arguments it takes; 1 where that cannot be known."""
    try:
        inspect.signature(function).bind({}, None)
        return 2
    except TypeError:
        return 1
    except ValueError:
        return 1


class Handler:
    """model.py, loaded."""

    def __init__(self, file):
        directory = os.path.dirname(os.path.abspath(file))
        sys.argv = [file]
        sys.path[0:1] = [directory]  # in place of '', which -c puts there
        spec = importlib.util.spec_from_file_location("model", file)
        module = importlib.util.module_from_spec(spec)
        sys.modules["model"] = module
        spec.loader.exec_module(module)
        self.model = module.load(directory)
        self.predict = module.predict
        self.both = parameters(self.predict) == 2
        self.is_async = inspect.iscoroutinefunction(self.predict)
        self.loop = asyncio.new_event_loop() if self.is_async else None
        self.about = {"batch": bool(getattr(module, "batch", False)),
                      "python": sys.version.split()[0]}
        if hasattr(module, "signature"):
            self.about["signature"] = module.signature()
        slots = (self.about.get("signature") or {}).get("outputs") or []
        self.declared = {s["name"]: NUMBERS.get(s.get("datatype")) for s in slots}
        self.only = slots[0]["name"] if len(slots) == 1 else "output"

    def run(self, inputs):
        """What predict() gives."""
        given = self.predict(inputs, self.model) if self.both else self.predict(inputs)
        return self.loop.run_until_complete(given) if self.is_async else given

    def outputs(self, given):
        """The same as tensors."""
        if not isinstance(given, dict):
            given = {self.only: given}
        found = []
        for name, value in given.items():
            try:
                if not isinstance(name, str) or not 0 < len(name.encode()) <= 1024:
                    raise TypeError("its name is not a text of 1 to 1024 bytes")
                found.append(convert(name, value, self.declared.get(name)))
                if len(found[-1][2]) > 8:
                    raise ValueError("it has more than 8 dimensions")
            except Exception as e:
                raise TypeError(f"predict() gave the output {name!r}: {e}") from e
        return found


def sentence(e):
    """An exception in one line."""
    text = " ".join(str(e).split())
    return (text if isinstance(e, InputMissing) else
            f"{type(e).__name__}: {text}" if text else type(e).__name__)[:TEXT]


def end_with(parent):
    """The kernel kills us when the server is gone."""
    try:
        import ctypes  # pylint: disable=import-outside-toplevel
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    except (ImportError, OSError, AttributeError):
        pass
    if os.getppid() != parent:
        sys.exit(1)


def answer_one(handler, answer, inputs):
    """(kind, size) of the answer to one request."""
    try:
        given = handler.run(inputs)
    except ValueError as e:
        if not isinstance(e, InputMissing):
            traceback.print_exc()
        return REFUSED, answer.text(sentence(e))
    except Exception as e:  # pylint: disable=broad-except
        traceback.print_exc()
        return FAILED, answer.text(sentence(e))
    try:
        return DONE, answer.tensors(handler.outputs(given))
    except Exception as e:  # pylint: disable=broad-except
        traceback.print_exc()
        return FAILED, answer.text(sentence(e))


def serve(channel, handler, answer):
    """Answers until the server is gone."""
    asked = mmap.mmap(4, os.fstat(4).st_size)
    message = bytearray(MESSAGE.size)
    while channel.recv_into(message) == MESSAGE.size:
        _, _, sequence, size = MESSAGE.unpack(message)
        if size > len(asked):
            asked = mmap.mmap(4, os.fstat(4).st_size)
        kind, n = answer_one(handler, answer, take(asked))
        channel.send(MESSAGE.pack(MAGIC, kind, sequence, n))


def main():
    """The worker."""
    file, most, parent = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    end_with(parent)
    os.set_inheritable(3, False)
    for fd in (4, 5, 6):
        os.set_inheritable(fd, False)
    channel = socket.socket(fileno=3)
    answer = Answer(5, most)
    try:
        handler = Handler(file)
        about = json.dumps(handler.about)
    except Exception as e:  # pylint: disable=broad-except
        traceback.print_exc()
        channel.send(MESSAGE.pack(MAGIC, FAILED, 0, answer.text(sentence(e))))
        sys.exit(1)
    channel.send(MESSAGE.pack(MAGIC, READY, 0, answer.text(about)))
    try:
        serve(channel, handler, answer)
    except (BrokenPipeError, ConnectionResetError):
        pass  # the server is gone


main()
