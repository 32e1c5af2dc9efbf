"""Reads one table through every engine as a pyarrow.Table, and compares tables exactly.

    rows = lakes.duckdb(tl.table_dir("readings"))
    lakes.same(rows, expected, key=["machine", "time"])

All readers but timelake's own give the raw rows: what an engine sees that knows nothing of dedup on read.
"""
import collections
import os
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness import ROOT, read_arrow, write_from_spark


def metadata_file(table_dir):
    """The newest v<N>.metadata.json of a table's folder."""
    found = []
    for path in pathlib.Path(table_dir, "metadata").iterdir():
        match = re.fullmatch(r"v(\d+)(\.gz)?\.metadata\.json(\.gz)?", path.name)
        if match:
            found.append((int(match.group(1)), path))
    assert found, f"no metadata in {table_dir}"
    return max(found)[1]


PeerViews = collections.namedtuple("PeerViews", "clean raw latest info")


# ---- readers ----------------------------------------------------------------------------------------------------------

def pyiceberg(table_dir, **scan):
    """pyiceberg's StaticTable; scan: row_filter, selected_fields, snapshot_id."""
    from pyiceberg.table import StaticTable
    return StaticTable.from_metadata(f"file://{metadata_file(table_dir)}").scan(**scan).to_arrow()


_duckdb = None


def duckdb_connection():
    """One DuckDB 1.5.5 with the iceberg extension, time zone UTC; for queries that duckdb() does not cover."""
    global _duckdb
    if _duckdb is None:
        import duckdb as module
        from duckdb_extensions import import_extension
        _duckdb = module.connect()
        for name in ("avro", "iceberg"):
            import_extension(name, con=_duckdb)
        _duckdb.execute("load iceberg")
        _duckdb.execute("set timezone='UTC'")
    return _duckdb


def duckdb(table_dir, where="true"):
    """DuckDB's iceberg_scan over the newest metadata file."""
    return duckdb_connection().execute(f"select * from iceberg_scan('{metadata_file(table_dir)}') where {where}").to_arrow_table()


def polars(table_dir):
    """polars' own reader of Iceberg tables."""
    os.environ["POLARS_ICEBERG_PLANNER"] = "pyiceberg"  # its own planner is a package of its own
    import polars as module
    return module.scan_iceberg(f"file://{metadata_file(table_dir)}").collect().to_arrow()


def spark(session, table_dir):
    """Spark by path: takes the version that version-hint.text names, or the newest."""
    from harness import spark_table
    return spark_table(session.read.format("iceberg").load(str(table_dir)))


def spark_large(session, table_dir, out):
    """The same for tables that do not fit into Spark's driver: by way of Parquet files in the folder `out`."""
    write_from_spark(session, table_dir, out)
    return pq.read_table(out)


def peer(peer_, lake, name, dedup=True):
    """Timelake 0.7.0, dedup on read on or off."""
    namespace, _, table = name.rpartition(".")
    return peer_.sql(lake, f'select * from "{table}"', dedup=dedup, namespace=namespace or "default")


def peer_views(peer_, lake, name):
    """All that Timelake 0.7.0 shows of a table, from one process: rows without older copies, all rows, newest rows, info."""
    namespace, _, table = name.rpartition(".")
    with tempfile.TemporaryDirectory() as tmp:
        info = peer_("""
l = timelake.Lake(args['lake'])
t = args['table']
tables = {'latest': l.latest(args['ns'] + '.' + t)}
for name, on in (('clean', 'true'), ('raw', 'false')):
    l.sql('set timelake.read_dedup=' + on, namespace=args['ns'])
    tables[name] = l.sql(f'select * from "{t}"', namespace=args['ns'])
for name, rows in tables.items():
    with pa.ipc.new_file(os.path.join(args['out'], name), rows.schema) as w:
        w.write_table(rows)
result = l.table(args['ns'] + '.' + t).info()
""", lake=str(lake), table=table, ns=namespace or "default", out=tmp)
        read = {part: read_arrow(pathlib.Path(tmp, part).read_bytes()) for part in ("clean", "raw", "latest")}
    return PeerViews(info=info, **read)


SCAN_DUMP = pathlib.Path(os.environ.get("TL_SCAN_DUMP") or ROOT / "build" / "scan_dump")


def c_api(lake, name, *options):
    """What a C program reads (tests/tools/scan_dump.c): "copies", "latest", "columns=a,b", "from=US", "to=US", "series=column=value" """
    assert SCAN_DUMP.is_file(), f"{SCAN_DUMP} is not there: run `make` first"
    run = subprocess.run([SCAN_DUMP, str(lake), name, *options], capture_output=True, timeout=300, env={**os.environ, "TZ": "Asia/Kathmandu"})
    assert run.returncode == 0, run.stderr.decode()
    return read_arrow(run.stdout)


def timelake(tl, name, dedup=True):
    """The command under test."""
    namespace, _, table = name.rpartition(".")
    query = f'select * from "{table}"'
    if not dedup:
        return tl.sql(query, "--namespace", namespace or "default", "--set", "read-dedup=off")
    return tl.sql(query, "--namespace", namespace or "default")


def read_latest(tl, name):
    """What the command's `latest` gives."""
    return read_arrow(tl.ok("latest", name, "--format", "arrow", binary=True))


# ---- comparison -------------------------------------------------------------------------------------------------------

def plain_type(t):
    """One spelling for the types that engines spell differently: large and view strings, zones of the same instants."""
    if pa.types.is_dictionary(t):
        return plain_type(t.value_type)
    if pa.types.is_large_string(t) or pa.types.is_string_view(t):
        return pa.string()
    if pa.types.is_large_binary(t) or pa.types.is_binary_view(t):
        return pa.binary()
    if pa.types.is_timestamp(t):
        return pa.timestamp("us", "UTC" if t.tz else None)
    if pa.types.is_time64(t):
        return pa.time64("us")
    if pa.types.is_large_list(t) or pa.types.is_list(t):
        return pa.list_(pa.field("element", plain_type(t.value_type)))
    if pa.types.is_struct(t):
        return pa.struct([pa.field(f.name, plain_type(f.type)) for f in t])
    if pa.types.is_map(t):
        return pa.map_(plain_type(t.key_type), plain_type(t.item_type))
    return t


def plain(table, columns=None):
    """The table with these columns (default: all, in order of name) in plain types and without metadata."""
    columns = columns or sorted(table.column_names)
    arrays = [table.column(c).cast(plain_type(table.schema.field(c).type)) for c in columns]
    return pa.table(dict(zip(columns, arrays))).combine_chunks()


def ordered(table, key):
    """The rows in order of these columns (nulls last), -0.0 before 0.0."""
    by = {}
    for name in key:
        column = table.column(name)
        if pa.types.is_floating(column.type):
            nulls, bits = _bits(column)
            column = pa.array(np.where(bits < 0, np.iinfo(bits.dtype).min - bits - 1, bits), mask=nulls)
        by[name] = column
    order = pc.sort_indices(pa.table(by), [(k, "ascending") for k in key])
    return table.take(order)


def _bits(column):
    """Values that are equal exactly when the column's are: nulls apart, floats by bits with one NaN."""
    nulls = column.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(column.type):
        values = column.fill_null(0).to_numpy(zero_copy_only=False)
        values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
        return nulls, values.view(f"i{values.dtype.itemsize}")
    if pa.types.is_timestamp(column.type) or pa.types.is_time64(column.type):
        return nulls, column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    if pa.types.is_date32(column.type):
        return nulls, column.cast(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False)
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        return nulls, column.fill_null(0 if pa.types.is_integer(column.type) else False).to_numpy(zero_copy_only=False)
    return nulls, np.array([repr(v) for v in column.to_pylist()], dtype=object)


def same(got, expected, key=None, columns=None):
    """Asserts that two tables hold the same rows: same columns (in any order), types (see plain_type), count and values;
    NaN equals NaN, -0.0 differs from 0.0. key: columns to sort both by first (None: the order counts). columns: compare only these."""
    if columns is None:
        assert sorted(got.column_names) == sorted(expected.column_names), \
            f"columns {sorted(got.column_names)} instead of {sorted(expected.column_names)}"
    got, expected = plain(got, columns), plain(expected, columns)
    for name in expected.column_names:
        a, b = got.schema.field(name).type, expected.schema.field(name).type
        assert a == b, f"column {name} has type {a} instead of {b}"
    assert got.num_rows == expected.num_rows, f"{got.num_rows} rows instead of {expected.num_rows}"
    if key:
        got, expected = ordered(got, key), ordered(expected, key)
    for name in expected.column_names:
        a, b = got.column(name), expected.column(name)
        if not pa.types.is_floating(b.type) and a.equals(b):
            continue
        (an, av), (bn, bv) = _bits(a), _bits(b)
        wrong = np.flatnonzero((an != bn) | (~bn & (av != bv)))
        if len(wrong):
            at = int(wrong[0])
            row = {k: expected.column(k)[at].as_py() for k in key or []}
            raise AssertionError(f"column {name}: {len(wrong)} of {len(a)} rows differ, first at row {at} {row}: "
                                 f"{a[at].as_py()!r} instead of {b[at].as_py()!r}")


def newest(table, series, time):
    """The last row of each series by time: what `latest` must give (for tables without repeated keys)."""
    by = ordered(table, [*series, time])
    ids = [by.column(s) for s in series]
    if not ids or by.num_rows == 0:
        return by.slice(max(0, by.num_rows - 1))
    change = np.zeros(by.num_rows, dtype=bool)
    change[-1] = True
    for column in ids:
        text = column.cast(pa.string()).fill_null("\0null").combine_chunks()
        if isinstance(text, pa.ChunkedArray):
            text = text.chunk(0)
        change[:-1] |= pc.not_equal(text.slice(0, len(text) - 1), text.slice(1)).to_numpy(zero_copy_only=False)
    return by.filter(pa.array(change))


def fingerprint(table, columns):
    """Equal for tables with the same multiset of rows in these columns, whatever their order: for tables too large to sort
    one per engine. Built from 64-bit hashes of the rows; -0.0 and 0.0 are not told apart."""
    con = duckdb_connection().cursor()
    con.execute("set timezone='UTC'")
    con.register("rows", pa.table({c: table.column(c).cast(plain_type(table.schema.field(c).type)) for c in columns}))
    of = ", ".join(f'"{c}"' for c in columns)
    row = con.execute(f"select count(*), sum(h::hugeint), bit_xor(h), sum((h >> 7)::hugeint * (h & 65535)::hugeint) "
                      f"from (select hash({of}) as h from rows)").fetchone()
    con.close()
    return row


def keep_last(table, key):
    """The last row of each key in the order of the table."""
    numbered = table.append_column("#", pa.array(np.arange(table.num_rows)))
    last = numbered.group_by(key).aggregate([("#", "max")]).column("#_max")
    return table.take(last.combine_chunks().sort())
