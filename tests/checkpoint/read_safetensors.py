"""Reads a safetensors file by the format's own description, knowing nothing of acid: checks what
the format demands and prints a line "name type shape bytes-in-hex" for each tensor, metadata first.
"""
import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    content = file.read()
(length,) = struct.unpack("<Q", content[:8])
assert length % 8 == 0 and content[8:9] == b"{", "header"
header = json.loads(content[8:8 + length].decode("utf-8"))
data = content[8 + length:]
for key, value in sorted(header.pop("__metadata__", {}).items()):
    print("metadata", key, value)
at = 0
for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
    begin, end = entry["data_offsets"]
    size = {"F32": 4, "U8": 1}[entry["dtype"]]
    assert begin == at and begin % size == 0, name
    for extent in entry["shape"]:
        size *= extent
    assert end - begin == size, name
    at = end
    print(name, entry["dtype"], "x".join(map(str, entry["shape"])), data[begin:end].hex())
assert at == len(data), "length"
