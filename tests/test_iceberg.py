"""What the Iceberg room reads and writes, against fastavro and pyiceberg, field by field.

build/iceberg_dump (tests/tools/iceberg_dump.c; TL_ICEBERG_DUMP overrides) shows our reading as JSON and writes files again.
"""
import datetime
import decimal
import json
import os
import pathlib
import random
import struct
import subprocess
import uuid
import zlib

import fastavro
import pyarrow as pa
import pyroaring
import pytest
from pyiceberg.io import load_file_io
from pyiceberg.manifest import ManifestFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import IdentityTransform, VoidTransform
from pyiceberg.types import (BinaryType, BooleanType, DateType, DecimalType, DoubleType, FixedType, FloatType,
                             IntegerType, ListType, LongType, MapType, NestedField, StringType, StructType, TimestampType,
                             TimestamptzType, TimeType, UUIDType)

import foreign
import harness

DUMP = pathlib.Path(os.environ.get("TL_ICEBERG_DUMP") or harness.ROOT / "build" / "iceberg_dump")
UTC = datetime.timezone.utc

COLUMNS = Schema(
    NestedField(1, "s", StringType()), NestedField(2, "ts", TimestamptzType(), required=True),
    NestedField(3, "v", DoubleType()), NestedField(4, "i", IntegerType()), NestedField(5, "l", LongType()),
    NestedField(6, "d", DecimalType(20, 3)), NestedField(7, "b", BooleanType()), NestedField(8, "bin", BinaryType()),
    NestedField(9, "day", DateType()), NestedField(10, "tm", TimeType()), NestedField(11, "u", UUIDType()),
    NestedField(12, "fx", FixedType(5)), NestedField(13, "f", FloatType()), NestedField(14, "nts", TimestampType()),
    NestedField(15, "two words", StringType(), doc="with a \"doc\""),
    NestedField(16, "li", ListType(18, StructType(NestedField(19, "x", IntegerType())), element_required=False)),
    NestedField(17, "mp", MapType(20, StringType(), 21, DoubleType(), value_required=False)), identifier_field_ids=[2])

# Time transforms need pyiceberg-core for writing; Timelake 0.7.0 writes those below.
SPECS = {
    "none": [],
    "text": [(1, IdentityTransform())],
    "several": [(4, IdentityTransform()), (7, IdentityTransform()), (9, IdentityTransform()), (6, IdentityTransform())],
    "bytes": [(12, IdentityTransform())],
    "times": [(13, IdentityTransform()), (10, IdentityTransform()), (2, IdentityTransform()), (14, IdentityTransform())],
    "void": [(1, VoidTransform()), (4, IdentityTransform())],
}


def rows(n, schema):
    start = datetime.datetime(1969, 12, 30, tzinfo=UTC)
    return pa.Table.from_pylist([{
        "s": None if i % 5 == 4 else f"s{i % 3}", "ts": start + datetime.timedelta(hours=13 * i),
        "v": [1.5, float("nan"), -0.0, None][i % 4], "i": None if i % 7 == 0 else i - 3, "l": i * 10**12,
        "d": decimal.Decimal(i * 977 - 3000) / 1000, "b": i % 2 == 0, "bin": bytes([i]) * (i % 3),
        "day": datetime.date(1969, 12, 28) + datetime.timedelta(days=i % 6), "tm": datetime.time(i % 24, 1),
        "u": uuid.UUID(int=i + (i << 100)).bytes, "fx": bytes([i] * 5), "f": i / 4,
        "nts": datetime.datetime(1970, 1, 1) + datetime.timedelta(days=i - 3), "two words": "x" * i,
        "li": [{"x": i}], "mp": {"k": 1.0}} for i in range(n)], schema=schema.as_arrow())


def dump(kind, path, *more):
    if not DUMP.exists():
        pytest.skip(f"{DUMP} is not built")
    run = subprocess.run([DUMP, kind, path, *more], capture_output=True, text=True)
    assert run.returncode == 0, f"{kind} {path}: {run.stderr}"
    return json.loads(run.stdout)


# ---- fastavro's values in the terms of the dump -------------------------------------------------------------------------

def micros(v):
    return (v if v.tzinfo else v.replace(tzinfo=UTC)) - datetime.datetime(1970, 1, 1, tzinfo=UTC)


def single_value(v, avro_type):
    """The hex digits of Iceberg's single-value encoding."""
    kind = avro_type if isinstance(avro_type, str) else avro_type["type"]
    if v is None:
        return None
    if isinstance(v, bool):
        return "01" if v else "00"
    if isinstance(v, datetime.datetime):
        return struct.pack("<q", micros(v) // datetime.timedelta(microseconds=1)).hex()
    if isinstance(v, datetime.date):
        return struct.pack("<i", (v - datetime.date(1970, 1, 1)).days).hex()
    if isinstance(v, datetime.time):
        return struct.pack("<q", ((v.hour * 60 + v.minute) * 60 + v.second) * 1000000 + v.microsecond).hex()
    if isinstance(v, decimal.Decimal):
        unscaled = int(v.scaleb(avro_type["scale"]))
        magnitude = unscaled if unscaled >= 0 else unscaled + 1
        return unscaled.to_bytes((magnitude.bit_length() + 8) // 8, "big", signed=True).hex()
    if isinstance(v, int):
        return struct.pack("<i" if kind == "int" else "<q", v).hex()
    if isinstance(v, float):
        return struct.pack("<f" if kind == "float" else "<d", v).hex()
    return (v.encode() if isinstance(v, str) else v).hex()


def partition_types(avro_schema):
    file = next(f for f in avro_schema["fields"] if f["name"] == "data_file")["type"]
    record = next(f for f in file["fields"] if f["name"] == "partition")["type"]
    return [(f["name"], next(t for t in f["type"] if t != "null")) for f in record["fields"]]


def statistics(file):
    columns = {}
    for i, key in enumerate(["column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds",
                             "upper_bounds"]):
        for entry in file.get(key) or []:
            value = entry["value"]
            columns.setdefault(entry["key"], [None] * 6)[i] = value.hex() if isinstance(value, bytes) else value
    return [[key, *columns[key]] for key in sorted(columns)]


def check_manifest(path):
    ours, theirs = dump("manifest", path), fastavro.reader(open(path, "rb"))
    types = partition_types(theirs.writer_schema)
    for entry, wanted in zip(ours["entries"], theirs, strict=True):
        file = wanted["data_file"]
        keys = ["status", "snapshot_id"] + (["sequence_number", "file_sequence_number"] if ours["format_version"] > 1 else [])
        assert [entry[k] for k in keys] == [wanted[k] for k in keys]
        for key in ["file_path", "record_count", "file_size_in_bytes", "sort_order_id"]:
            assert entry[key] == file[key]
        for key in ["referenced_data_file", "content_offset", "content_size_in_bytes"]:
            assert entry[key] == file.get(key)
        assert entry["content"] == file.get("content", 0)
        assert entry["file_format"] == file["file_format"].upper()
        assert entry["split_offsets"] == (file["split_offsets"] or [])
        assert entry["equality_ids"] == (file.get("equality_ids") or [])
        assert entry["partition"] == [single_value(file["partition"][name], t) for name, t in types]
        assert entry["columns"] == statistics(file)


def check_list(path):
    def first(record, *names):
        return next((record[n] for n in names if n in record), None)

    for entry, wanted in zip(dump("list", path), fastavro.reader(open(path, "rb")), strict=True):
        for key in ["manifest_path", "manifest_length", "partition_spec_id", "added_snapshot_id"]:
            assert entry[key] == wanted[key]
        for key in ["content", "sequence_number", "min_sequence_number"]:
            assert entry[key] == wanted.get(key, 0)
        assert entry["files"] == [first(wanted, f"{k}_files_count", f"{k}_data_files_count")
                                  for k in ("added", "existing", "deleted")]
        assert entry["rows"] == [wanted[f"{k}_rows_count"] for k in ("added", "existing", "deleted")]
        assert entry["partitions"] == [
            [s["contains_null"], s["contains_nan"], *(b if b is None else b.hex() for b in (s["lower_bound"], s["upper_bound"]))]
            for s in wanted["partitions"] or []]


def comparable(metadata):
    """Metadata without what the two sides may write or leave out."""
    m = json.loads(json.dumps(metadata))
    for key in ["schema", "partition-spec"]:
        m.pop(key, None)
    for key in ["statistics", "partition-statistics", "snapshots", "snapshot-log", "metadata-log"]:
        if not m.get(key):
            m.pop(key, None)
    if m["format-version"] == 1:
        m.pop("last-sequence-number", None)
        for snapshot in m.get("snapshots", []):
            snapshot.pop("sequence-number", None)
    return m


@pytest.fixture
def made(tmp_path):
    def make(version, spec, codec="deflate"):
        fields = [PartitionField(source_id=source, field_id=1000 + i, transform=transform,
                                 name=f"p {i}" if i == 1 else f"p{i}") for i, (source, transform) in enumerate(SPECS[spec])]
        table = foreign.FolderCatalog(tmp_path).create_table(
            "n.t", COLUMNS, partition_spec=PartitionSpec(*fields), sort_order=SortOrder(SortField(2, IdentityTransform())),
            properties={"format-version": str(version), "write.avro.compression-codec": codec})
        table.append(rows(12, table.schema()))
        table.append(rows(3, table.schema()))
        if spec in ("none", "text"):
            table.delete("s == 's1'")
        return table
    return make


def local(uri):
    return pathlib.Path(uri.removeprefix("file://"))


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("codec", ["deflate", "null"])
def test_tables_of_pyiceberg_are_read_field_by_field(made, version, spec, codec):
    if codec == "null" and spec != "several":
        pytest.skip("one table without compression is enough")
    table = made(version, spec, codec)
    path = local(table.metadata_location)
    assert comparable(dump("metadata", path)) == comparable(json.loads(path.read_text()))
    for file in path.parent.glob("*.avro"):
        (check_list if file.name.startswith("snap-") else check_manifest)(file)


def entries(manifest, io):
    """What pyiceberg reads, in comparable form."""
    found = []
    for e in manifest.fetch_manifest_entry(io, discard_deleted=False):
        file = e.data_file
        found.append([e.status, e.snapshot_id, e.sequence_number, e.file_sequence_number, file.content, file.file_path,
                      file.file_format, [repr(v) for v in file.partition._data], file.record_count, file.file_size_in_bytes,
                      file.sort_order_id, file.split_offsets or None, file.equality_ids or None,
                      *(getattr(file, key) or None for key in ["column_sizes", "value_counts", "null_value_counts",
                                                               "nan_value_counts", "lower_bounds", "upper_bounds"])])
    return found


@pytest.mark.parametrize("spec", SPECS)
def test_manifests_that_we_write_again_are_read_equal_by_pyiceberg(made, tmp_path, spec):
    table = made(2, spec)
    io = load_file_io({})
    for i, manifest in enumerate(table.current_snapshot().manifests(table.io)):
        wanted = entries(manifest, io)
        again = tmp_path / f"again-{i}.avro"
        dump("manifest", local(manifest.manifest_path), again, local(table.metadata_location))
        check_manifest(again)
        moved = ManifestFile(*manifest._data)
        moved[0] = f"file://{again}"
        assert wanted and entries(moved, io) == wanted


MAKE_PEER_TABLE = """
import datetime as dt, decimal
from datetime import timezone
schema = pa.schema([('s', pa.string()), ('ts', pa.timestamp('us', 'UTC')), ('v', pa.float64()), ('d', pa.decimal128(12, 3)),
                    ('bin', pa.binary())] + ([('x', pa.list_(pa.struct([('a', pa.int32()), ('m', pa.map_(pa.string(), pa.float64()))]))),
                    ('y', pa.struct([('p', pa.string())]))] if args['nested'] else []))
t = timelake.Lake(args['lake']).create_table('r', schema, time_column='ts', series_key=['s'], chunk=args['chunk'])
for k in range(10):
    rows = [{'s': f's{i % 7}', 'ts': dt.datetime(1969, 12, 31, 22, tzinfo=timezone.utc) + dt.timedelta(hours=i, seconds=k),
             'v': float('nan') if i % 9 == 0 else i - 1.0, 'd': decimal.Decimal(i * 137 - 500) / 1000, 'bin': b'x' * i,
             **({'x': [{'a': 1, 'm': [('k', 1.0)]}], 'y': {'p': 'q'}} if args['nested'] else {})} for i in range(5)]
    t.append(pa.Table.from_pylist(rows, schema=schema), maintain=False)
result = None
"""


@pytest.mark.parametrize("chunk", ["hour", "day", "month"])
@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
def test_tables_of_the_peer_are_read_and_written_alike(peer, lake, tmp_path, chunk, nested):
    peer(MAKE_PEER_TABLE, lake=str(lake), chunk=chunk, nested=nested)
    folder = lake / "default" / "r" / "metadata"
    versions = sorted(folder.glob("v*.metadata.json"), key=lambda p: int(p.name[1:].split(".")[0]))
    assert len(versions) == 11
    for path in versions:
        dump("metadata", path)
        shown = subprocess.run([DUMP, "metadata", path], capture_output=True).stdout
        assert shown == path.read_bytes() + b"\n"  # to the byte, key order and all
    for path in folder.glob("*.avro"):
        if path.name.startswith("snap-"):
            check_list(path)
            continue
        check_manifest(path)
        again = tmp_path / path.name
        assert dump("manifest", path, again, versions[-1]) == dump("manifest", again)
        ours, theirs = (fastavro.reader(open(p, "rb")) for p in (again, path))
        assert ours.metadata == theirs.metadata  # Avro schema, table schema, spec: word for word


def test_lists_that_we_write_again_are_read_equal_by_fastavro(made, tmp_path):
    table = made(2, "text")
    path = local(table.current_snapshot().manifest_list)
    again = tmp_path / "again.avro"
    assert dump("list", path, again) == dump("list", again)
    check_list(again)
    assert fastavro.reader(open(again, "rb")).metadata["parent-snapshot-id"] == "null"


def deletion_vector(positions):
    """The blob of a Puffin file, with pyroaring's bitmaps."""
    halves = {}
    for p in positions:
        halves.setdefault(p >> 32, pyroaring.BitMap()).add(p & 0xffffffff)
    body = bytes.fromhex("d1d33964") + struct.pack("<q", len(halves))
    for high in sorted(halves):
        halves[high].run_optimize()
        body += struct.pack("<I", high) + halves[high].serialize()
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


@pytest.mark.parametrize("positions", [
    [], [0], [65535, 65536, 2**31, 2**32, 2**40 + 7], range(100000), range(0, 1 << 20, 3), range(70000, 70010),
    [*range(5000), *range(1 << 17, (1 << 17) + 5), *range(1 << 18, 1 << 19, 2), *range(1 << 33, (1 << 33) + 200000)],
    sorted(random.Random(7).sample(range(1 << 22), 50000))], ids=range(8))
def test_deletion_vectors_of_pyroaring_are_read(tmp_path, positions):
    path = tmp_path / "blob"
    path.write_bytes(deletion_vector(positions))
    assert dump("dv", path) == list(positions)


def test_a_file_that_is_no_metadata_is_refused_in_one_line(tmp_path):
    if not DUMP.exists():
        pytest.skip(f"{DUMP} is not built")
    path = tmp_path / "x"
    path.write_text("{\"format-version\":5}")
    for kind, message in [("metadata", "metadata: format version 5 is not one of 1, 2, 3"),
                          ("manifest", "manifest is not an Avro file"), ("list", "manifest list is not an Avro file")]:
        run = subprocess.run([DUMP, kind, path], capture_output=True, text=True)
        assert (run.returncode, run.stderr) == (1, message + "\n")
