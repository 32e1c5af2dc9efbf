"""What append and import read: every format gives the same rows; bad input is one clear line, and the table as it was."""
import gzip
import json
import os
import shutil
import subprocess

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import harness
import lakes

KEY = ["machine", "time"]
SCHEMA = "machine:string,time:timestamptz,v:double,n:int,ok:bool,d:decimal(9,3),day:date,note:string"
OPTIONS = ("--time-column", "time", "--series-key", "machine")
CSV = '''machine,time,v,n,ok,d,day,note
a,2025-01-01T00:00:00Z,0.1,1,true,1.500,2025-01-01,plain
a,2025-01-01T00:00:01.000001Z,,,,,,
"b,c",2025-01-01T01:00:02+01:00,-1e300,-2147483648,false,-123456.789,1969-12-31,"two
lines, ""quoted"""
d,2025-01-01 00:00:03,NaN,7,FALSE,0,2000-02-29,""
'''


@pytest.fixture
def table(tl):
    tl.ok("create", "r", "--schema", SCHEMA, *OPTIONS)
    return tl


@pytest.fixture(scope="module")
def rows():
    import datetime as dt
    from decimal import Decimal
    utc = dt.timezone.utc
    t = [dt.datetime(2025, 1, 1, 0, 0, s, us, utc) for s, us in [(0, 0), (1, 1), (2, 0), (3, 0)]]
    return pa.table({
        "machine": ["a", "a", "b,c", "d"],
        "time": pa.array(t, pa.timestamp("us", "UTC")),
        "v": pa.array([0.1, None, -1e300, float("nan")], pa.float64()),
        "n": pa.array([1, None, -2147483648, 7], pa.int32()),
        "ok": pa.array([True, None, False, False]),
        "d": pa.array([Decimal("1.500"), None, Decimal("-123456.789"), Decimal("0.000")], pa.decimal128(9, 3)),
        "day": pa.array([dt.date(2025, 1, 1), None, dt.date(1969, 12, 31), dt.date(2000, 2, 29)], pa.date32()),
        "note": ["plain", None, 'two\nlines, "quoted"', ""],
    })


def read(tl, name="r"):
    return tl.sql(f"select * exclude (_ingest_ts) from {name}")


def write_all(folder, rows):
    """The rows in every format: {name: path}."""
    files = {}

    def put(name, data):
        files[name] = folder / name
        files[name].write_bytes(data)

    put("x.csv", CSV.encode())
    put("bom.csv", b"\xef\xbb\xbf" + CSV.replace("\n", "\r\n").replace("two\r\nlines", "two\nlines").encode())
    put("x.csv.gz", gzip.compress(CSV.encode()))
    put("members.csv.gz", gzip.compress(CSV[:100].encode()) + gzip.compress(CSV[100:].encode()))
    put("x.csv.zst", pa.Codec("zstd").compress(CSV.encode(), asbytes=True))
    put("x.tsv", TSV.encode())
    lines = [json.dumps(dict(zip(rows.column_names, [json_value(v) for v in r.values()]))) for r in rows.to_pylist()]
    put("x.ndjson", ("\n".join(lines) + "\n").encode())
    put("x.jsonl.zst", pa.Codec("zstd").compress("\n\n".join(lines).encode(), asbytes=True))
    for name, options in [("x.parquet", {}), ("v2.parquet", {"data_page_version": "2.0", "compression": "zstd"}),
                          ("plain.parquet", {"use_dictionary": False, "compression": "none", "row_group_size": 1})]:
        pq.write_table(rows, folder / name, **options)
        files[name] = folder / name
    with pa.OSFile(str(folder / "x.arrow"), "wb") as f, pa.ipc.new_file(f, rows.schema) as w:
        w.write_table(rows, max_chunksize=2)
    with pa.OSFile(str(folder / "stream.arrow"), "wb") as f, pa.ipc.new_stream(f, rows.schema) as w:
        w.write_table(rows)
    encoded = rows.set_column(0, "machine", rows.column("machine").dictionary_encode())
    feather.write_feather(encoded, folder / "dictionary.feather", compression="lz4")
    for name in ("x.arrow", "stream.arrow", "dictionary.feather"):
        files[name] = folder / name
    return files


TSV = CSV.replace('"b,c"', "b;c").replace(",", "\t").replace("b;c", "b,c").replace('two\nlines\t', "two\nlines,")


def json_value(v):
    import datetime as dt
    import decimal
    if isinstance(v, float) and v != v:
        return "NaN"
    if isinstance(v, (dt.datetime, dt.date)):
        return v.isoformat()
    return str(v) if isinstance(v, decimal.Decimal) else v


@pytest.fixture(scope="module")
def files(tmp_path_factory, rows):
    return write_all(tmp_path_factory.mktemp("inputs"), rows)


NAMES = ["x.csv", "bom.csv", "x.csv.gz", "members.csv.gz", "x.csv.zst", "x.tsv", "x.ndjson", "x.jsonl.zst", "x.parquet", "v2.parquet",
         "plain.parquet", "x.arrow", "stream.arrow", "dictionary.feather"]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_same_rows(table, files, rows, name):
    table.ok("append", "r", files[name])
    lakes.same(read(table), rows, key=KEY)


@pytest.mark.parametrize("name,form", [("x.csv", "csv"), ("x.csv.gz", "csv"), ("x.tsv", "tsv"), ("x.ndjson", "ndjson"),
                                       ("x.arrow", "arrow"), ("stream.arrow", "arrow"), ("x.parquet", "parquet")])
def test_standard_input(table, files, rows, name, form):
    table.ok("append", "r", "-", "--format", form, stdin=files[name].read_bytes())
    lakes.same(read(table), rows, key=KEY)


def test_standard_input_flows_while_it_is_written(table):
    """Rows are committed before the writer of the pipe has ended."""
    p = table.start("append", "r", "-", "--format", "csv", "--rows-per-commit", "2", stdin=subprocess.PIPE)
    p.stdin.write(CSV.encode())
    p.stdin.flush()
    first = p.stderr.readline()
    assert first.startswith(b"commit 0: 2 rows")
    assert table.ok("sql", "--format", "csv", "select count(*) n from r") in ("n\n2\n", "n\n4\n")
    p.stdin.close()
    assert p.wait(timeout=60) == 0
    p.stdout.close(), p.stderr.close()


def test_a_folder_is_its_parquet_files(table, files, rows, tmp_path):
    folder = tmp_path / "in"
    (folder / "day=1").mkdir(parents=True)
    (folder / "other").mkdir()
    pq.write_table(rows.slice(0, 2), folder / "b.parquet")
    pq.write_table(rows.slice(2, 2), folder / "day=1" / "a.parquet")
    pq.write_table(rows.slice(0, 1).append_column("z", [[1]]), folder / "other" / "c.parquet")
    (folder / "_SUCCESS").write_text("")
    (folder / ".hidden.parquet").write_text("no")
    (folder / "notes.txt").write_text("no")
    table.ok("append", "r", folder)
    lakes.same(read(table), rows, key=KEY)


def test_files_of_several_formats_in_one_call(table, files, rows):
    table.ok("append", "r", files["x.csv"], files["x.parquet"], files["x.ndjson"], files["x.arrow"])
    lakes.same(read(table), rows, key=KEY)
    assert table.ok("sql", "--format", "csv", "--set", "read-dedup=false", "select count(*) n from r") == "n\n16\n"


@pytest.mark.parametrize("per_commit,commits", [(0, 3), (1, 12), (5, 3), (100, 1)])
def test_rows_per_commit(table, files, per_commit, commits):
    got = table("append", "r", files["x.csv"], files["bom.csv"], files["x.csv.gz"], "--rows-per-commit", per_commit, "--no-maintain")
    assert got.rc == 0 and f" in {commits} commits" in got.out
    assert len([line for line in got.err.splitlines() if line.startswith("commit ")]) == commits
    assert table.ok("sql", "--format", "csv", "select count(*) n from r") == "n\n4\n"


def test_null_texts(table):
    text = 'machine,time,v,note\na,2025-01-01,NA,NA\nb,2025-01-01,-,"NA"\nc,2025-01-01,"","-"\n'
    table.ok("append", "r", "-", "--format", "csv", "--null", "NA", "--null", "-", stdin=text)
    assert table.json("sql", "--json", "select machine, v, note from r order by 1") == [
        {"machine": "a", "v": None, "note": None}, {"machine": "b", "v": None, "note": "NA"}, {"machine": "c", "v": None, "note": "-"}]


def test_a_delimiter_of_ones_own(table):
    table.ok("append", "r", "-", "--format", "csv", "--delimiter", ";", stdin="machine;time;v\na;2025-01-01;1,5\n".replace("1,5", "1.5"))
    assert table.json("sql", "--json", "select v from r") == [{"v": 1.5}]


def test_ndjson_loses_no_digit(tl):
    tl.ok("create", "j", "--schema", "k:bigint,d:decimal(38,10),x:double,s:string")
    tl.ok("append", "j", "-", "--format", "ndjson", stdin=
          '{"k":9007199254740993,"d":1234567890123456789012345678.0123456789,"x":0.1,"s":12345678901234567890.10}\n'
          '{"k":"-9223372036854775808","s":{"a":[1.50,null]}}\n{"s":"\\u00e4\\n\\u0000x"}\n')
    got = read_plain(tl, "j")
    assert got[0]["k"] == 9007199254740993 and str(got[0]["d"]) == "1234567890123456789012345678.0123456789"
    assert got[0]["x"] == 0.1 and got[0]["s"] == "12345678901234567890.10"
    assert got[1]["k"] == -2**63 and got[1]["s"] == '{"a":[1.50,null]}'
    assert got[2]["s"] == "ä\n\x00x"
    assert "does not fit" in tl.fails("append", "j", "-", "--format", "ndjson", stdin='{"k":1.5}\n')


def read_plain(tl, name):
    return tl.sql(f"select * from {name}").to_pylist()


def test_ndjson_into_nested_columns(tl):
    tl.ok("create", "j", "--schema", "k:int,l:list<int>,s:struct<x:double,y:list<string>>,m:map<string,bigint>")
    tl.ok("append", "j", "-", "--format", "ndjson", stdin=
          '{"k":1,"l":[1,null,3],"s":{"y":["a"],"x":0.5},"m":{"a":9007199254740993}}\n{"k":2,"l":[],"s":null,"m":{}}\n{"k":3}\n')
    got = read_plain(tl, "j")
    assert got == [{"k": 1, "l": [1, None, 3], "s": {"x": 0.5, "y": ["a"]}, "m": [("a", 9007199254740993)]},
                   {"k": 2, "l": [], "s": None, "m": []}, {"k": 3, "l": None, "s": None, "m": None}]
    line = tl.fails("append", "j", "-", "--format", "ndjson", stdin='{"k":1}\n{"k":1,"l":[1,"x"]}\n')
    assert "standard input, line 2" in line and '"l' in line
    assert 'column "l" wants a list' in tl.fails("append", "j", "-", "--format", "ndjson", stdin='{"l":5}\n')


# ---- create --from and import ---------------------------------------------------------------------------------------

def types(tl, name):
    return {f["name"]: f["type"] for f in tl.json("info", name, "--json")[0]["schema"] if f["name"] != "_ingest_ts"}


def test_types_are_guessed_from_the_whole_file(tl, tmp_path):
    path = tmp_path / "g.csv"
    path.write_text("a,b,c,d,e,f,g,h,i,t\n" + "1,1,007,true,2025-01-01,2025-01-01 10:00,10:00:00,,x,2025-01-01T00:00:00Z\n" * 3000
                    + "2,1.5,8,false,2025-01-02,2025-01-01,11:00:00,,1,2025-01-01T00:00:00+02:00\n")
    tl.ok("create", "g", "--from", path)
    assert types(tl, "g") == {"a": "long", "b": "double", "c": "string", "d": "boolean", "e": "date", "f": "timestamp", "g": "time",
                              "h": "string", "i": "string", "t": "timestamptz"}
    assert tl.ok("sql", "--format", "csv", "select count(*) n from g") == "n\n0\n"


def test_guesses_over_ndjson(tl):
    tl.ok("import", "j", "-", "--format", "ndjson", "--time-column", "t", stdin=
          '{"t":"2025-01-01T00:00:00Z","a":1,"s":"1","m":1}\n{"t":"2025-01-02T00:00:00Z","a":2.5,"b":true,"l":[1],"m":"x"}\n')
    assert types(tl, "j") == {"t": "timestamptz", "a": "double", "s": "string", "b": "boolean", "l": "string", "m": "string"}
    assert tl.json("sql", "--json", "select a, s, b, l, m from j order by t") == [
        {"a": 1.0, "s": "1", "b": None, "l": None, "m": "1"}, {"a": 2.5, "s": None, "b": True, "l": "[1]", "m": "x"}]


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "stream.arrow", "dictionary.feather"])
def test_create_takes_the_types_of_typed_files(tl, files, rows, name):
    tl.ok("create", "r", "--from", files[name], *OPTIONS)
    assert types(tl, "r") == {"machine": "string", "time": "timestamptz", "v": "double", "n": "int", "ok": "boolean",
                              "d": "decimal(9, 3)", "day": "date", "note": "string"}


def test_import_makes_the_table_and_then_appends(tl, files, rows):
    got = tl("import", "r", files["x.csv"], *OPTIONS)
    assert got.rc == 0 and "created default.r\n" in got.err and "appended 4 rows in 1 commits" in got.out
    got = tl("import", "r", "-", "--format", "csv", stdin=files["x.csv"].read_bytes())
    assert got.rc == 0 and "created" not in got.err
    assert read(tl).num_rows == 4
    assert tl.ok("sql", "--format", "csv", "--set", "read-dedup=off", "select count(*) n from r") == "n\n8\n"


def test_import_from_standard_input_reads_it_twice(tl, files, rows):
    tl.ok("import", "r", "-", "--format", "csv", *OPTIONS, stdin=files["x.csv"].read_bytes())
    assert read(tl).num_rows == 4 and types(tl, "r")["n"] == "long"


# ---- bad input ------------------------------------------------------------------------------------------------------

HEAD = "machine,time,v,n\n"
BAD = {
    "text in a number column": (HEAD + "a,2025-01-01,1,1\nb,2025-01-01,x,1\n", ["line 3", 'column "v"', "row 2", "x"]),
    "a number that does not fit": (HEAD + "a,2025-01-01,1,3000000000\n", ["line 2", 'column "n"', "row 1", "3000000000"]),
    "a fraction in an int column": (HEAD + "a,2025-01-01,1,1.5\n", ["line 2", 'column "n"', "1.5"]),
    "no time": (HEAD + "a,2025-01-01,1,1\na,,1,1\n", ["line 3", 'column "time"', "row 2", "null"]),
    "a wrong time": (HEAD + "a,2025-02-30,1,1\n", ["line 2", 'column "time"', "2025-02-30"]),
    "an unknown column": ("machine,time,wrong\na,2025-01-01,1\n", ['"wrong"', "not in the table"]),
    "a missing time column": ("machine,v\na,1\n", ['"time"', "missing"]),
    "a column twice": ("machine,time,v,v\na,2025-01-01,1,1\n", ['"v"']),
    "the wrong delimiter": (HEAD.replace(",", ";") + "a;2025-01-01;1;1\n", ["line 1", "semicolon", "--delimiter"]),
    "a short line": (HEAD + "a,2025-01-01,1\n", ["line 2", "3 fields", "4"]),
    "a long line": (HEAD + "a,2025-01-01,1,1,1\n", ["line 2", "5 fields"]),
    "an open quote": (HEAD + 'a,2025-01-01,1,1\n"b,2025-01-01,1,1\n', ["line 3", "quoted field"]),
    "broken UTF-8": (HEAD.encode() + b"a,2025-01-01,1,1\n\xc3(,2025-01-01,1,1\n", ["line 3", "UTF-8"]),
    "UTF-16": (HEAD.encode("utf-16"), ["UTF-16"]),
    "an empty file": ("", ["empty"]),
    "only line breaks": ("\n\n", ["header"]),
    "Parquet called CSV": (b"PAR1" + bytes(100), ["Parquet", "--format parquet"]),
    "a line after quoted line breaks": (HEAD + '"a\nb",2025-01-01,1,1\nb,2025-01-01,x,1\n', ["line 4", "row 2"]),
}


def state(tl):
    return sorted((str(p.relative_to(tl.lake)), p.stat().st_size) for p in tl.lake.rglob("*") if p.is_file())


@pytest.fixture
def filled(table):
    table.ok("append", "r", "-", "--format", "csv", stdin=HEAD + "z,2024-01-01,1,1\n")
    return table


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("verb", ["append", "import"])
def test_bad_input_is_one_clear_line_and_changes_nothing(filled, tmp_path, verb, what):
    text, parts = BAD[what]
    path = tmp_path / "bad.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = state(filled)
    line = filled.fails(verb, "r", path)
    for part in ["bad.csv", *parts]:
        assert part in line, line
    assert state(filled) == before


@pytest.mark.parametrize("what", ["a short line", "an open quote", "broken UTF-8", "an empty file", "the wrong delimiter", "no time"])
def test_a_failed_import_leaves_no_table(tl, tmp_path, what):
    text, parts = BAD[what]
    path = tmp_path / "bad.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    line = tl.fails("import", "r", path, *OPTIONS)
    assert "bad.csv" in line
    assert tl.ok("ls") == "" and not (tl.lake / "default" / "r" / "metadata" / "v1.metadata.json").exists()


def test_bad_paths(filled, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "noname").write_text("x")
    before = state(filled)
    assert "no.csv: no such file" in filled.fails("append", "r", tmp_path / "no.csv")
    assert "empty: this is a directory without a .parquet file" in filled.fails("append", "r", tmp_path / "empty")
    assert "noname: its name tells no format" in filled.fails("append", "r", tmp_path / "noname")
    assert "this is a directory" in filled.fails("append", "r", tmp_path / "empty", "--format", "csv")
    assert "standard input: its name tells no format" in filled.fails("append", "r", "-", stdin="x")
    assert "no.csv" in filled.fails("append", "r", "-", tmp_path / "no.csv", "--format", "csv", stdin=HEAD + "a,2025-01-01,1,1\n")
    assert state(filled) == before


@pytest.mark.parametrize("form,data", [
    ("parquet", b"PAR1"), ("parquet", b"not parquet at all, but long enough to be looked at"), ("parquet", b""), ("arrow", b"ARROW1\0\0"),
    ("arrow", b"no arrow"), ("arrow", b""), ("arrow", b"\xff\xff\xff\xff\x10\0\0\0" + bytes(3)), ("ndjson", b'{"machine":'),
    ("ndjson", b"[]"), ("ndjson", b'"x"\n'), ("ndjson", b"\xff\n"), ("ndjson", b'{"zzz":1}\n'), ("csv", gzip.compress(b"a,b\n")[:-4])])
def test_broken_files_of_every_format(filled, tmp_path, form, data):
    path = tmp_path / "broken.bin"
    path.write_bytes(data)
    before = state(filled)
    assert "broken.bin" in filled.fails("append", "r", path, "--format", form)
    assert state(filled) == before


def test_the_row_of_a_bad_value_is_counted_in_its_file(filled, tmp_path, rows):
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text(HEAD + "a,2025-01-01,1,1\n" * 3)
    bad.write_text(HEAD + "a,2025-01-01,1,1\na,2025-01-01,1,q\n")
    line = filled.fails("append", "r", good, good, bad)
    assert "bad.csv, line 3" in line and "row 2" in line
    wrong = rows.select(["machine", "time"]).append_column("n", pa.array([1, 2, 2**40, 4], pa.int64()))
    pq.write_table(wrong, tmp_path / "wrong.parquet", row_group_size=2)
    line = filled.fails("append", "r", tmp_path / "wrong.parquet")
    assert "wrong.parquet" in line and "row 3" in line and str(2**40) in line


def test_what_was_committed_before_a_failure_is_told(table, tmp_path):
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text(HEAD + "a,2025-01-01,1,1\n")
    bad.write_text(HEAD + "a,2025-01-01,1,q\n")
    got = table("append", "r", good, bad, "--rows-per-commit", "0")
    assert got.rc == 1 and "after 1 commits (1 rows), which stand" in got.err.splitlines()[-1]
    assert table.ok("sql", "--format", "csv", "select count(*) n from r") == "n\n1\n"


def test_a_full_disk_for_standard_input_is_an_error(table):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    with open("/dev/full", "wb") as full:
        p = table.start("sql", "select * from range(100000)", "--format", "csv", stdout=full)
        _, err = p.communicate(timeout=60)
    assert p.returncode == 1 and b"Error: the output" in err


# ---- against Python's csv and json ----------------------------------------------------------------------------------

ALPHABET = ["a", "b", ",", ";", '"', "'", "\n", "\r", "\r\n", " ", "\t", "ä", "€", "😀", "\\", "x" * 300, "0", "NULL"]


def random_rows(dice, n):
    return [[None if dice.random() < 0.1 else "".join(dice.choices(ALPHABET, k=dice.randrange(6))) for _ in range(3)] for _ in range(n)]


@pytest.mark.parametrize("quoting", ["all", "minimal"])
def test_random_csv_is_read_as_python_wrote_it(tl, quoting):
    import csv
    import io
    import random
    seed = int(os.environ.get("TL_SEED") or random.SystemRandom().randrange(2**32))
    print("TL_SEED =", seed)
    dice = random.Random(seed)
    for n, (delimiter, end) in enumerate([(",", "\n"), (";", "\r\n"), ("\t", "\n")]):
        rows = [[str(i), *r] for i, r in enumerate(random_rows(dice, 3000))]
        if quoting == "minimal":  # a CR without quotes before the LF would be a part of the line's end
            rows = [[*r[:3], r[3] and r[3].replace("\r", "")] for r in rows]
        out = io.StringIO()
        style = {"all": csv.QUOTE_NOTNULL if hasattr(csv, "QUOTE_NOTNULL") else csv.QUOTE_ALL, "minimal": csv.QUOTE_MINIMAL}[quoting]
        writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=style)
        writer.writerow(["i", "a", "b", "c"])
        writer.writerows(rows)
        tl.ok("create", f"t{n}", "--schema", "i:int,a:string,b:string,c:string")
        tl.ok("append", f"t{n}", "-", "--format", "csv", "--delimiter", delimiter, stdin=out.getvalue().encode())
        got = tl.sql(f"select * from t{n} order by i").to_pylist()
        # an empty text without quotes is null; Python before 3.12 writes nulls like empty texts
        blank = None if quoting == "minimal" else None if style != csv.QUOTE_ALL else ""
        want = [{"i": i, **{k: (v if v else blank if v is None or quoting == "minimal" else "") for k, v in zip("abc", r[1:])}}
                for i, r in enumerate(rows)]
        assert got == want


def test_random_ndjson_is_read_as_python_wrote_it(tl):
    import random
    seed = int(os.environ.get("TL_SEED") or random.SystemRandom().randrange(2**32))
    print("TL_SEED =", seed)
    dice = random.Random(seed)
    rows = []
    for i, r in enumerate(random_rows(dice, 3000)):
        row = {"i": i, "a": r[0], "b": r[1], "n": dice.choice([None, dice.randrange(-2**63, 2**63)]),
               "d": dice.choice([None, dice.uniform(-1e300, 1e300), dice.random(), 5e-324, -0.0]),
               "l": dice.choice([None, [], [dice.randrange(100) for _ in range(dice.randrange(4))]])}
        rows.append(row)
    lines = []
    for row in rows:
        keys = list(row)
        dice.shuffle(keys)
        lines.append(json.dumps({k: row[k] for k in keys if row[k] is not None or dice.random() < 0.5}, ensure_ascii=dice.random() < 0.5))
    tl.ok("create", "t", "--schema", "i:int,a:string,b:string,n:bigint,d:double,l:list<int>")
    tl.ok("append", "t", "-", "--format", "ndjson", stdin="\n".join(lines).encode())
    got = tl.sql("select * from t order by i").to_pylist()
    assert [repr(g) for g in got] == [repr(r) for r in rows]
