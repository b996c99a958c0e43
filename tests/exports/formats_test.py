"""The formats of `acid export` as other programs read them, and what it says when it cannot."""
import csv
import io
import json
import os
import struct
import sys

import event_files
from bench import bench


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def check_points(acid):
    long = rows(acid.call("export", "small"))
    wide = rows(acid.call("export", "small", "--wide"))
    lines = [json.loads(line) for line in acid.call("export", "small", "--format",
                                                    "jsonl").splitlines()]
    wide_lines = [json.loads(line) for line in acid.call(
        "export", "small", "--format", "jsonl", "--wide").splitlines()]
    document = json.loads(acid.call("export", "small", "--format", "json"))
    assert len(long) == len(lines) == sum(
        len(series["value"]) for run in document["runs"] for series in run["series"])
    for row, line in zip(long, lines):
        assert row["run"] == line["run"] and row["metric"] == line["metric"]
        assert float(row["value"]) == float(line["value"])
        assert row["worker"] == ("" if line["worker"] is None else str(line["worker"]))
    assert len(wide) == len(wide_lines)
    whole = {(row["run"], row["metric"], row["gradients"], row["value"])
             for row in long if row["worker"] == ""}
    metrics = {row["metric"] for row in long if row["worker"] == ""}
    found = {(row["run"], metric, row["gradients"], row[metric])
             for row in wide for metric in metrics if row[metric] != ""}
    assert whole == found
    assert {row["label"] for row in wide} == {"AR-SGD", "pairs, \"quoted\""}, wide[0]
    assert metrics < set(wide[0])
    settings = {run["id"]: run["settings"] for run in document["runs"]}
    for row, line in zip(wide, wide_lines):  # differing settings are beside the values, by run
        for key in (name for name in row if "." in name):
            value = settings[row["run"]]
            for part in key.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            assert line[key] == value, (key, line[key], value)
            assert row[key] == ("" if value is None else value if isinstance(value, str)
                                else json.dumps(value)), (key, row[key], value)
    return long


def check_tensorboard(acid, long):
    assert acid.call("export", "small", "--format", "tensorboard", "-o", "logs/deep") == ""
    folders = os.listdir(acid.path("logs/deep"))
    assert len(folders) == 4
    read = 0
    for folder in folders:
        (name,) = os.listdir(acid.path("logs/deep/" + folder))
        assert "tfevents" in name
        run = folder.rsplit("-", 1)[1]
        wanted = {(row["metric"] + ("/worker_" + row["worker"] if row["worker"] else ""),
                   int(row["gradients"]), struct.pack("<f", float(row["value"])))
                  for row in long if row["run"] == run}
        path = acid.path(f"logs/deep/{folder}/{name}")
        found = {(tag, step, struct.pack("<f", value))
                 for step, _, tag, value in event_files.scalars(path)}
        assert found == wanted and found
        read += len(found)
        with open(path, "rb") as file:
            before = file.read()
        acid.call("export", run, "--format", "tensorboard", "-o", "logs/deep")
        with open(path, "rb") as file:
            assert file.read() == before
    assert read > 0 and sorted(os.listdir(acid.path("logs/deep"))) == sorted(folders)


def check_errors(acid):
    def refused(*arguments, says, code=2):
        acid.call("export", *arguments, code=code)
        assert says in acid.said, acid.said

    refused("small", "--format", "tensorboard", says="-o FOLDER")
    refused("small", "--format", "tensorboard", "-o", "-", says="-o FOLDER")
    refused("small", "--format", "parquet", says="csv")
    refused("small", "--format", "json", "--wide", says="--wide")
    refused("small", "--format", "safetensors", says="one run is wanted")
    ids = [run["id"] for run in json.loads(acid.call("list", "--json"))["runs"]]
    refused(*ids, "--format", "safetensors", says="4 are named")
    refused("small", "--crate", "x.zip", "--format", "csv", says="--format")
    refused("small", "--author", "A", says="--crate")
    refused("nonesuch", says="nonesuch")
    refused("small", "-o", "no/such/folder.csv", says="cannot create", code=1)
    refused("small", "--format", "tensorboard", "-o", "small.toml", says="cannot create", code=1)
    for path in ("store.db", "store.db-wal", "checkpoints/model"):
        refused("small", "-o", "acid-store/" + path, says="belongs to the store", code=2)
    acid.call("export", "small", "-o", "kept.csv")
    os.chmod(acid.path("kept.csv"), 0o600)
    acid.call("export", "small", "-o", "kept.csv")
    assert os.stat(acid.path("kept.csv")).st_mode & 0o777 == 0o600
    before = acid.listed()
    assert acid.call("export", "small", "-o", "out.csv") == ""
    assert acid.listed() == sorted(before + ["out.csv"])


def check_full_disk(acid):
    if not os.path.exists("/dev/full"):
        return
    acid.call("export", "small", "-o", "/dev/full", code=1)
    assert "/dev/full" in acid.said


def main(program):
    with bench(program) as acid:
        acid.run(label='"pairs, \\"quoted\\""')
        check_tensorboard(acid, check_points(acid))
        check_errors(acid)
        check_full_disk(acid)


if __name__ == "__main__":
    main(sys.argv[1])
