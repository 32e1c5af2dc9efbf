"""Tables that other writers make: pyiceberg without a database, and Iceberg files changed by hand.

    catalog = foreign.FolderCatalog(lake)            lake/<namespace>/<table>/metadata/0000N-<uuid>.metadata.json
    foreign.number_metadata(table_dir, zipped=True)  the newest metadata as v<N>.gz.metadata.json, and a hint
    foreign.add_equality_deletes(table_dir, ...)     a commit with an equality delete file
"""
import gzip
import json
import pathlib
import re
import time
import uuid

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io import load_file_io
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER


class FolderCatalog(MetastoreCatalog):
    """pyiceberg's way of writing with the folders of a lake as the catalog: the newest metadata file is the table. For one
    writer at a time."""

    def __init__(self, lake):
        super().__init__("folder", warehouse=f"file://{lake}")
        self.lake = pathlib.Path(lake)

    def create_table(self, identifier, schema, location=None, partition_spec=UNPARTITIONED_PARTITION_SPEC,
                     sort_order=UNSORTED_SORT_ORDER, properties=None):
        namespace, name = self.identifier_to_database_and_table(identifier)
        location = location or f"file://{self.lake}/{namespace}/{name}"
        staged = self._create_staged_table(identifier, schema, location, partition_spec, sort_order, properties or {})
        self._write_metadata(staged.metadata, staged.io, staged.metadata_location)
        return self.load_table(identifier)

    def load_table(self, identifier):
        namespace, name = self.identifier_to_database_and_table(identifier)
        found = sorted((self.lake / namespace / name / "metadata").glob("[0-9]*.metadata.json"))
        if not found:
            raise NoSuchTableError(f"{namespace}.{name}")
        location = f"file://{found[-1]}"
        io = load_file_io({}, location)
        return Table((namespace, name), FromInputFile.table_metadata(io.new_input(location)), location, io, self)

    def commit_table(self, table, requirements, updates):
        current = self.load_table(table.name())
        staged = self._update_and_stage_table(current, current.name(), requirements, updates)
        self._write_metadata(staged.metadata, staged.io, staged.metadata_location)
        return CommitTableResponse(metadata=staged.metadata, metadata_location=staged.metadata_location)


FolderCatalog.__abstractmethods__ = frozenset()  # what these tests do not call


def newest_numbered(table_dir):
    """The newest 0000N-<uuid>.metadata.json and its N."""
    path = max(pathlib.Path(table_dir, "metadata").glob("[0-9]*.metadata.json"))
    return path, int(re.match(r"\d+", path.name).group())


def number_metadata(table_dir, zipped=False, hint=True, keep=False):
    """Renames (keep: copies) the metadata of a catalog to v1, v2 ... as a table found by its path has them."""
    for path in sorted(pathlib.Path(table_dir, "metadata").glob("[0-9]*.metadata.json")):
        n = int(re.match(r"\d+", path.name).group()) + 1
        data = path.read_bytes()
        if zipped:
            path.with_name(f"v{n}.gz.metadata.json").write_bytes(gzip.compress(data))
        else:
            path.with_name(f"v{n}.metadata.json").write_bytes(data)
        if not keep:
            path.unlink()
    if hint:
        pathlib.Path(table_dir, "metadata", "version-hint.text").write_text(str(n))


# ---- by hand --------------------------------------------------------------------------------------------------------------

def _local(uri):
    return re.sub(r"^file:/+", "/", uri)


def _avro(path):
    with open(path, "rb") as f:
        reader = fastavro.reader(f)
        return reader.writer_schema, dict(reader.metadata), list(reader)


def _write_avro(path, schema, records, header):
    keep = {k: v for k, v in header.items() if not k.startswith("avro.")}
    with open(path, "wb") as f:
        fastavro.writer(f, schema, records, metadata=keep)


def add_delete_file(table_dir, rows, **data_file):
    """Commits a Parquet file of deletes to a v2 table numbered v1, v2 ...: `rows` is its content, data_file the fields of its
    manifest entry that make it one: content (1 position, 2 equality), equality_ids, referenced_data_file ..."""
    table_dir = pathlib.Path(table_dir)
    number = max(int(re.match(r"v(\d+)", p.name).group(1)) for p in (table_dir / "metadata").glob("v*.metadata.json"))
    metadata = json.loads((table_dir / "metadata" / f"v{number}.metadata.json").read_text())
    [snapshot] = [s for s in metadata["snapshots"] if s["snapshot-id"] == metadata["current-snapshot-id"]]
    list_schema, list_header, entries = _avro(_local(snapshot["manifest-list"]))
    schema, header, old = _avro(_local(entries[0]["manifest_path"]))
    new_id, sequence = uuid.uuid4().int >> 66, metadata["last-sequence-number"] + 1

    path = table_dir / "data" / f"deletes-{uuid.uuid4()}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(rows, path)
    entry = json.loads(json.dumps(old[0], default=lambda v: None))
    entry.update(status=1, snapshot_id=new_id, sequence_number=None, file_sequence_number=None)
    entry["data_file"] = {k: None for k in entry["data_file"]}
    entry["data_file"].update(content=data_file.pop("content"), file_path=path.as_uri(), file_format="PARQUET", partition=old[0]["data_file"]["partition"],
                              record_count=rows.num_rows, file_size_in_bytes=path.stat().st_size, **data_file)
    manifest = table_dir / "metadata" / f"{uuid.uuid4()}-m0.avro"
    _write_avro(manifest, schema, [entry], {**header, "content": "deletes", "format-version": "2"})

    line = dict(entries[0], manifest_path=manifest.as_uri(), manifest_length=manifest.stat().st_size, content=1, sequence_number=sequence,
                min_sequence_number=sequence, added_snapshot_id=new_id, added_files_count=1, existing_files_count=0, deleted_files_count=0,
                added_rows_count=rows.num_rows, existing_rows_count=0, deleted_rows_count=0)
    manifest_list = table_dir / "metadata" / f"snap-{new_id}-{uuid.uuid4()}.avro"
    _write_avro(manifest_list, list_schema, [*entries, line], {**list_header, "snapshot-id": str(new_id), "sequence-number": str(sequence)})

    metadata["snapshots"].append({"snapshot-id": new_id, "parent-snapshot-id": snapshot["snapshot-id"], "sequence-number": sequence,
                                  "timestamp-ms": int(time.time() * 1000), "manifest-list": manifest_list.as_uri(),
                                  "summary": {"operation": "delete"}, "schema-id": metadata["current-schema-id"]})
    metadata.update({"current-snapshot-id": new_id, "last-sequence-number": sequence})
    metadata.setdefault("refs", {})["main"] = {"snapshot-id": new_id, "type": "branch"}
    (table_dir / "metadata" / f"v{number + 1}.metadata.json").write_text(json.dumps(metadata))
    (table_dir / "metadata" / "version-hint.text").write_text(str(number + 1))


def add_equality_deletes(table_dir, rows, field_ids):
    fields = [f.with_metadata({"PARQUET:field_id": str(i)}) for f, i in zip(rows.schema, field_ids)]
    add_delete_file(table_dir, rows.cast(pa.schema(fields)), content=2, equality_ids=list(field_ids))


def add_position_deletes(table_dir, path, positions, **data_file):
    """Deletes these rows of the data file with this path (as in the manifest)."""
    fields = [pa.field("file_path", pa.string(), False, {"PARQUET:field_id": "2147483546"}),
              pa.field("pos", pa.int64(), False, {"PARQUET:field_id": "2147483545"})]
    rows = pa.table([[path] * len(positions), sorted(positions)], schema=pa.schema(fields))
    add_delete_file(table_dir, rows, content=1, **data_file)


def data_files(table_dir):
    """Paths of the current snapshot's data files, as its manifests have them."""
    from lakes import metadata_file
    metadata = json.loads(metadata_file(table_dir).read_text())
    [snapshot] = [s for s in metadata["snapshots"] if s["snapshot-id"] == metadata["current-snapshot-id"]]
    found = []
    for line in _avro(_local(snapshot["manifest-list"]))[2]:
        found += [e["data_file"]["file_path"] for e in _avro(_local(line["manifest_path"]))[2]
                  if e["status"] != 2 and e["data_file"].get("content", 0) == 0]
    return found
