"""Reads a file of HDFS with libhdfs, as frameworks do: by names that the loader has to find."""
import ctypes
import sys

hdfs = ctypes.CDLL("libhdfs.so")
for name in ("hdfsConnect", "hdfsOpenFile"):
    getattr(hdfs, name).restype = ctypes.c_void_p
place = sys.argv[1]
connection = hdfs.hdfsConnect(b"default", 0)
assert connection, "no connection"
file = hdfs.hdfsOpenFile(ctypes.c_void_p(connection), place.encode(), 0, 0, 0, 0)
assert file, f"cannot open {place}"
room = ctypes.create_string_buffer(4096)
read = hdfs.hdfsRead(ctypes.c_void_p(connection), ctypes.c_void_p(file), room, len(room))
print("read:", room.raw[:read].decode())
