"""Maintenance end to end: `check`, `maintain` and `upgrade` on lakes of ours and of Timelake 0.7.0, read by every engine
before and after; what killed writers leave; two systems that maintain one table in turn."""
import datetime
import json
import os
import random
import shutil
import signal
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import foreign
import harness
import lakes

T0 = datetime.datetime(2026, 3, 1, tzinfo=datetime.timezone.utc)
SCHEMA = pa.schema([("sensor", pa.string()), ("time", pa.timestamp("us", "UTC")), ("v", pa.float64())])
KEY = ["sensor", "time"]
COLUMNS = SCHEMA.names


def rows_at(minutes, sensor="a", v=0.0):
    """One row for each of these minutes after T0."""
    times = [T0 + datetime.timedelta(minutes=m) for m in minutes]
    return pa.table({"sensor": [sensor] * len(times), "time": pa.array(times, pa.timestamp("us", "UTC")),
                     "v": pa.array([v + i for i in range(len(times))])}, schema=SCHEMA)


def create(tl, name="readings", *options):
    tl.create(name, SCHEMA, "--time-column", "time", "--series-key", "sensor", *options)


def fill(tl, name="readings", batches=8, seed=1, span=4000):
    """Late rows, repeated keys, four days; gives what must be read."""
    dice, appended = random.Random(seed), []
    for b in range(batches):
        for sensor in "abc":
            appended.append(rows_at(dice.sample(range(span), 150), sensor, 1000.0 * b))
        tl.append(name, pa.concat_tables(appended[-3:]), "--no-maintain")
    return lakes.keep_last(pa.concat_tables(appended), KEY)


def findings(tl, name="readings", *options):
    """What `check` finds, as dicts; the last line is the summary."""
    result = tl("check", name, "--json", *options)
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert result.rc == (1 if len(lines) > 1 else 0), result
    assert lines[-1]["findings"] + lines[-1]["warnings"] == len(lines) - 1
    return lines[:-1]


def kinds(tl, *args):
    return sorted(f["kind"] for f in findings(tl, *args))


def age(path, days):
    """Makes a file so old, by the store's clock."""
    then = time.time() - days * 86400
    os.utime(path, (then, then))


# ---- check --------------------------------------------------------------------------------------------------------------

def test_check_of_a_sound_table(tl):
    create(tl)
    expected = fill(tl)
    assert tl.ok("check", "readings").startswith("default.readings: checked ")
    assert "all well" in tl.ok("check")
    [summary] = tl.json("check", "readings", "--json")
    assert summary["findings"] == summary["warnings"] == 0 and summary["rows"] == 8 * 450 and summary["version"] == 9
    assert summary["files"] > 8 and summary["snapshots"] == 8
    lakes.same(lakes.timelake(tl, "readings"), expected, key=KEY, columns=COLUMNS)
    assert tl.json("check", "readings", "--quick", "--json")[0]["files"] == summary["files"]


def test_check_of_tables_of_all_kinds(tl, weather):
    tl.ok("import", "weather", weather, "--time-column", "time_hour", "--series-key", "origin", "--chunk", "month", "--null", "NA")
    nested = pa.table({"time": pa.array([T0] * 3, pa.timestamp("us", "UTC")), "k": [1, 2, None],
                       "l": [[1, 2], None, []], "s": [{"a": 1, "b": "x"}, {"a": None, "b": None}, None],
                       "d": pa.array([1, None, 3], pa.decimal128(20, 2)), "b": [b"x", b"", None]})
    tl.create("nested", nested.schema, "--time-column", "time", "--series-key", "k")
    for _ in range(2):
        tl.append("nested", nested, "--no-maintain")
    tl.create("plain", nested.schema)
    tl.append("plain", nested)
    create(tl, "empty")
    assert tl.ok("check").count("all well") == 4
    tl.ok("maintain")
    assert tl.ok("check").count("all well") == 4


def test_check_says_what_is_wrong_and_fails(tl):
    create(tl)
    fill(tl)
    files = sorted((tl.table_dir("readings") / "data").rglob("*.parquet"))
    lost = files[0].read_bytes()
    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes()[:-10])
    assert kinds(tl) == ["file-size", "missing-file"]
    result = tl("check", "readings")
    assert result.rc == 1 and "Error: 2 findings" in result.err
    assert f"missing-file default/readings/data/{files[0].parent.name}/{files[0].name}: " in result.out
    assert kinds(tl, "readings", "--quick") == ["file-size", "missing-file"]
    files[0].write_bytes(lost)
    assert kinds(tl) == ["file-size"]


def test_check_of_values_that_are_not_what_the_manifest_says(tl):
    """The same rows in a file of the same size cannot be had by hand; other rows in a manifest can."""
    create(tl)
    tl.append("readings", rows_at(range(10)))
    [path] = foreign.data_files(tl.table_dir("readings"))
    table = pq.read_table(path.removeprefix("file://"))
    unsorted = table.take([3, 1, 2, 0, 4, 5, 6, 7, 8, 8])
    rewrite_file(tl, path, unsorted)
    found = kinds(tl)
    assert {"unsorted", "duplicate-keys"} <= set(found), found


def rewrite_file(tl, path, rows):
    """Other rows in a data file, and its new size in the manifest."""
    local = path.removeprefix("file://")
    fields = {f.name: f.metadata[b"PARQUET:field_id"].decode() for f in pq.read_schema(local)}
    schema = pa.schema([f.with_metadata({"PARQUET:field_id": fields[f.name]}) for f in rows.schema])
    pq.write_table(rows.cast(schema), local)
    directory = tl.table_dir("readings")
    for manifest in (directory / "metadata").glob("*-m.avro"):
        schema, header, entries = foreign._avro(manifest)
        for e in entries:
            if e["data_file"]["file_path"] == path:
                e["data_file"]["file_size_in_bytes"] = os.path.getsize(local)
        foreign._write_avro(manifest, schema, entries, header)


def test_check_of_delete_files(tl, lake):
    create(tl)
    tl.append("readings", rows_at(range(10)))
    directory = tl.table_dir("readings")
    [path] = foreign.data_files(directory)
    foreign.add_position_deletes(directory, path, [2, 5])
    assert [k for k in kinds(tl) if k != "last-value-index"] == []
    foreign.add_position_deletes(directory, path, [7, 99])
    assert "deletes" in kinds(tl)


def test_check_of_deletes_of_a_file_that_is_gone(tl):
    create(tl)
    tl.append("readings", rows_at(range(10)))
    directory = tl.table_dir("readings")
    [path] = foreign.data_files(directory)
    foreign.add_position_deletes(directory, path.replace(".parquet", "-other.parquet"), [0])
    assert kinds(tl) == ["dangling-deletes"]


def test_check_of_tables_by_others(tl, lake, peer):
    peer.create(lake, "readings", SCHEMA, time_column="time", series_key=["sensor"])
    for b in range(4):
        peer.append(lake, "readings", rows_at(range(b * 10, b * 10 + 300), v=b))
    assert kinds(tl) == []
    peer.maintain(lake, "readings")
    assert kinds(tl) == []


@pytest.mark.parametrize("delete_format", ["position", "dv"])
def test_tables_of_policy_upsert(tl, delete_format):
    create(tl, "readings", "--policy", "upsert", "--prop", f"delete-format={delete_format}")
    expected = fill(tl)
    [summary] = tl.json("check", "readings", "--json")
    assert summary["findings"] == summary["warnings"] == 0 and summary["delete_files"] > 0
    directory = tl.table_dir("readings")
    if delete_format == "position":
        data = {path.removeprefix("file://") for path in foreign.data_files(directory)}
        lost = next(p for p in (directory / "data").rglob("*.parquet") if str(p) not in data)
        whole = lost.read_bytes()
        lost.write_bytes(whole[:-1])
        assert "file-size" in kinds(tl)
        lost.write_bytes(whole)
    tl.ok("maintain", "readings")
    [summary] = tl.json("check", "readings", "--json")
    assert summary["delete_files"] == 0 and summary["rows"] == expected.num_rows
    lakes.same(lakes.duckdb(directory), expected, key=KEY, columns=COLUMNS)


# ---- maintain -----------------------------------------------------------------------------------------------------------

def all_engines(tl, expected):
    """After maintenance every engine sees each row once."""
    directory = tl.table_dir("readings")
    for read in (lakes.duckdb, lakes.pyiceberg, lakes.polars):
        lakes.same(read(directory), expected, key=KEY, columns=COLUMNS)
    lakes.same(lakes.timelake(tl, "readings"), expected, key=KEY, columns=COLUMNS)
    lakes.same(lakes.timelake(tl, "readings", dedup=False), expected, key=KEY, columns=COLUMNS)


def test_maintain_leaves_each_row_once_for_every_engine(tl, peer):
    create(tl)
    expected = fill(tl)
    newest = lakes.read_latest(tl, "readings")
    before = tl.info("readings")["files"]
    line = tl.ok("maintain", "readings")
    assert line.startswith(f"default.readings: compacted 3 partitions ({before} → 3 files, 3600 rows, {3600 - expected.num_rows} duplicates removed), "
                           "dropped 0 partitions, refreshed 0 rollups (0 rows), expired 0 snapshots, deleted 0 objects in "), line
    assert line.endswith("s → v10\n")
    all_engines(tl, expected)
    lakes.same(lakes.read_latest(tl, "readings"), newest, key=KEY)
    assert kinds(tl) == []
    views = lakes.peer_views(peer, tl.lake, "readings")
    lakes.same(views.raw, expected, key=KEY, columns=COLUMNS)
    lakes.same(views.latest, newest, key=KEY)
    [again] = tl.json("maintain", "readings", "--json")
    assert again["partitions_compacted"] == 0 and again["version"] == 10


def test_we_and_the_peer_maintain_in_turn(tl, peer):
    create(tl)
    appended, dice = [], random.Random(5)
    for turn in range(6):
        for sensor in "ab":
            appended.append(rows_at(dice.sample(range(3000), 200), sensor, 1000.0 * turn))
        rows = pa.concat_tables(appended[-2:])
        if turn % 2:
            peer.append(tl.lake, "readings", rows)
            peer.maintain(tl.lake, "readings")
        else:
            tl.append("readings", rows, "--no-maintain")
            tl.ok("maintain", "readings")
        expected = lakes.keep_last(pa.concat_tables(appended), KEY)
        all_engines(tl, expected)
        assert kinds(tl) == []
        views = lakes.peer_views(peer, tl.lake, "readings")
        lakes.same(views.raw, expected, key=KEY, columns=COLUMNS)
        lakes.same(views.latest, lakes.newest(expected, ["sensor"], "time"), key=KEY, columns=COLUMNS)


def test_tables_of_other_programs_are_checked_and_else_left_alone(tl, lake):
    from pyiceberg.transforms import IdentityTransform
    rows = pa.table({"s": ["a", "b", None, "z" * 160], "v": [1.0, float("nan"), -0.0, None], "l": [[1], None, [], [2, 3]],
                     "d": pa.array([1, None, -3, 4], pa.decimal128(20, 2)), "b": [True, False, None, True]})
    table = foreign.FolderCatalog(lake).create_table("default.other", rows.schema)
    table.append(rows)
    table.append(rows)
    table.delete("s == 'a'")
    with table.update_spec() as spec:
        spec.add_field("s", IdentityTransform())
    table.append(rows)
    foreign.number_metadata(tl.table_dir("other"))
    create(tl)
    tl.append("readings", rows_at(range(10)))
    for _ in range(2):
        assert kinds(tl, "other", "--grace", "0s") == []
        result = tl("maintain", "--orphans", "--grace", "0s")
        assert result.rc == 0 and "default.other: left alone: " in result.err and "default.readings: compacted" in result.out
    assert "not partitioned by" in tl.fails("maintain", "other")
    assert "another program's" in tl.fails("upgrade", "other")
    assert "default.other: left alone" in tl("upgrade").err


def test_a_budget_does_some_and_says_what_is_left(tl):
    create(tl)
    expected = fill(tl)
    first = tl.ok("maintain", "readings", "--budget", "1B")
    assert "compacted 1 partitions" in first and "default.readings: 2 partitions are left for the next time" in first
    lakes.same(lakes.timelake(tl, "readings"), expected, key=KEY, columns=COLUMNS)
    assert tl.json("maintain", "readings", "--json", "--budget", "60s,1GB")[0]["partitions_compacted"] == 2
    all_engines(tl, expected)
    assert "--budget wants a time or a size" in tl.fails("maintain", "readings", "--budget", "soon", rc=2)


def test_a_dry_run_changes_nothing(tl):
    create(tl)
    fill(tl)
    tl.ok("alter", "readings", "--set", "retention=1d")
    stray = tl.table_dir("readings") / "data" / "stray.parquet"
    stray.write_text("x")
    age(stray, 10)
    before = snapshot_of(tl)
    out = tl.ok("maintain", "readings", "--orphans", "--dry-run")
    assert "would remove default/readings/data/stray.parquet (1 bytes)" in out
    assert "drop 1 partitions" in out and "remove 1 orphans" in out
    assert snapshot_of(tl) == before


def snapshot_of(tl):
    return {p: p.read_bytes() for p in sorted(tl.table_dir("readings").rglob("*")) if p.is_file()}


def test_each_step_can_be_left_out(tl):
    create(tl)
    fill(tl)
    tl.ok("alter", "readings", "--set", "retention=1d", "--set", "max-snapshots=2", "--set", "min-snapshots=1")
    [nothing] = tl.json("maintain", "readings", "--json", "--no-compact", "--no-retention", "--no-expire", "--no-rollups")
    assert nothing["version"] == tl.info("readings")["version"] == 10
    [dropped] = tl.json("maintain", "readings", "--json", "--no-compact", "--no-expire")
    assert dropped["partitions_dropped"] == 1 and dropped["partitions_compacted"] == 0 and dropped["snapshots_expired"] == 0
    [expired] = tl.json("maintain", "readings", "--json", "--no-compact")
    assert expired["snapshots_expired"] > 0 and expired["objects_deleted"] > 0
    assert kinds(tl) == []


def test_progress_is_for_terminals_alone(tl):
    create(tl)
    fill(tl)
    result = tl("maintain", "readings")
    assert result.rc == 0 and result.err == ""
    assert tl("check", "readings").err == ""


def test_maintain_killed_again_and_again_loses_nothing(tl):
    """Killed as soon as it has written something, however fast the machine is; what it leaves is rubbish and nothing else."""
    create(tl)
    expected = fill(tl, batches=12, span=20000)
    tl.ok("alter", "readings", "--set", "max-snapshots=2", "--set", "min-snapshots=1", "--set", "durability=none")
    directory = tl.table_dir("readings")
    for _ in range(5):
        before = set(directory.rglob("*"))
        p = tl.start("maintain", "readings", "--budget", "1B")
        while p.poll() is None and not set(directory.rglob("*")) - before:
            pass
        p.send_signal(signal.SIGKILL)
        p.communicate()
        lakes.same(lakes.timelake(tl, "readings"), expected, key=KEY, columns=COLUMNS)
        assert [f for f in findings(tl) if f["level"] == "error"] == []
    tl.ok("maintain", "readings", "--orphans", "--grace", "0s")
    all_engines(tl, expected)
    assert kinds(tl, "readings", "--grace", "0s") == []


# ---- retention ----------------------------------------------------------------------------------------------------------

def test_retention_and_latest_agree_also_for_the_peer(tl, peer):
    """A month's partition with a retention of days: 0.7.0 loses live series from `latest` here."""
    create(tl, "readings", "--chunk", "month")
    old, new = rows_at([-60 * 24 * 40, 60], "old"), rows_at([60 * 24 * 25], "new")
    gone = rows_at([-60 * 24 * 45], "gone")
    tl.append("readings", pa.concat_tables([old, new, gone]))
    tl.ok("alter", "readings", "--set", "retention=5d")
    [did] = tl.json("maintain", "readings", "--json")
    assert did["partitions_dropped"] == 1 and did["rows_dropped"] == 2
    expected = pa.concat_tables([old.slice(1), new])
    lakes.same(lakes.timelake(tl, "readings"), expected, key=KEY, columns=COLUMNS)
    assert sorted(lakes.read_latest(tl, "readings")["sensor"].to_pylist()) == ["new", "old"]
    assert sorted(lakes.peer_views(peer, tl.lake, "readings").latest["sensor"].to_pylist()) == ["new", "old"]
    assert kinds(tl) == []


def test_a_row_from_the_future_does_not_drop_the_rest(tl):
    create(tl)
    rows = pa.concat_tables([rows_at([0], "a"), rows_at([60 * 24 * 2], "b")])
    future = rows_at([60 * 24 * 365 * 200], "future")
    tl.append("readings", pa.concat_tables([rows, future]))
    tl.ok("alter", "readings", "--set", "retention=30d")
    assert tl.json("maintain", "readings", "--json")[0]["partitions_dropped"] == 0
    assert tl.sql("select count(*) as n from readings").to_pylist() == [{"n": 3}]


# ---- orphans ------------------------------------------------------------------------------------------------------------

def test_what_a_killed_writer_left_is_found_and_goes(tl, tmp_path):
    create(tl)
    expected = fill(tl)
    with pa.ipc.new_file(tmp_path / "rows.arrow", SCHEMA) as w:
        for n in range(200):
            w.write_table(rows_at(range(100000 + n * 50, 100000 + n * 50 + 50), f"k{n}"))
    # killed when its first files are there, which none of its commits names yet
    before = {p for p in tl.table_dir("readings").rglob("*.parquet")}
    p = tl.start("append", "readings", tmp_path / "rows.arrow", "--rows-per-commit", "5000")
    while p.poll() is None and {q for q in tl.table_dir("readings").rglob("*.parquet")} <= before:
        pass
    p.send_signal(signal.SIGKILL)
    p.communicate()
    got = lakes.timelake(tl, "readings")
    for path in tl.table_dir("readings").rglob("*"):
        age(path, 10)
    tl.ok("maintain", "readings", "--orphans", "--grace", "1d")
    assert kinds(tl) == []
    lakes.same(lakes.timelake(tl, "readings"), got, key=KEY)
    assert got.num_rows >= expected.num_rows
    left = {p for p in tl.table_dir("readings").rglob("*") if p.is_file()}
    assert not [p for p in left if "#" in p.name or p.name.startswith(".")], left


def test_grace_is_by_the_stores_clock(tl):
    create(tl)
    fill(tl)
    directory = tl.table_dir("readings")
    strays = {directory / "data" / "young.parquet": 0, directory / "data" / "day.parquet": 1.04, directory / "metadata" / "old-m.avro": 4}
    for path, days in strays.items():
        path.write_text("x")
        age(path, days)
    assert kinds(tl, "readings", "--grace", "0s") == ["orphan"] * 3
    assert kinds(tl) == ["orphan"]
    tl.ok("maintain", "readings", "--orphans")
    assert [p.exists() for p in strays] == [True, True, False]
    tl.ok("maintain", "readings", "--orphans", "--grace", "1d")
    assert [p.exists() for p in strays] == [True, False, False]
    tl.ok("maintain", "readings", "--orphans", "--grace", "0s")
    assert [p.exists() for p in strays] == [False, False, False]
    assert "--grace is for --orphans" in tl.fails("maintain", "readings", "--grace", "1d", rc=2)


def test_orphans_stay_when_a_manifest_cannot_be_read(tl):
    create(tl)
    fill(tl)
    stray = tl.table_dir("readings") / "data" / "stray.parquet"
    stray.write_text("x")
    age(stray, 10)
    manifest = next((tl.table_dir("readings") / "metadata").glob("*-m.avro"))
    whole = manifest.read_bytes()
    manifest.write_bytes(whole[: len(whole) // 2])
    tl.fails("maintain", "readings", "--orphans", "--no-compact", "--no-expire")
    assert stray.exists()
    manifest.write_bytes(whole)
    tl.ok("maintain", "readings", "--orphans")
    assert not stray.exists()


def test_links_out_of_the_table_are_not_followed(tl, tmp_path):
    create(tl)
    fill(tl)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious.parquet").write_text("x")
    age(outside / "precious.parquet", 10)
    (tl.table_dir("readings") / "data" / "link").symlink_to(outside)
    tl.ok("maintain", "readings", "--orphans", "--grace", "0s")
    assert (outside / "precious.parquet").exists()


def test_other_spellings_of_paths_are_the_same_place(tl):
    """Metadata with file:/… and double slashes, as other engines write them."""
    create(tl)
    expected = fill(tl)
    metadata = lakes.metadata_file(tl.table_dir("readings"))
    text = metadata.read_text().replace("file:///", "file:/")
    number = int(metadata.name.split(".")[0][1:])
    (metadata.parent / f"v{number + 1}.metadata.json").write_text(text.replace("/default/readings/", "/default//readings/"))
    tl.ok("maintain", "readings", "--orphans", "--grace", "0s", "--no-compact")
    lakes.same(lakes.timelake(tl, "readings"), expected, key=KEY, columns=COLUMNS)


def test_a_lake_that_was_moved_loses_nothing(tl, tmp_path):
    create(tl)
    expected = fill(tl)
    shutil.copytree(tl.lake, tmp_path / "moved")
    moved = harness.Command(tl.path, tmp_path / "moved")
    moved.ok("maintain", "readings", "--orphans", "--grace", "0s", "--no-compact")
    lakes.same(lakes.timelake(moved, "readings"), expected, key=KEY, columns=COLUMNS)
    assert kinds(moved) == []


# ---- many commits -------------------------------------------------------------------------------------------------------

def test_planning_stays_flat_after_many_commits(tl, tmp_path):
    create(tl)
    tl.ok("alter", "readings", "--set", "durability=none")
    with pa.ipc.new_file(tmp_path / "rows.arrow", SCHEMA) as w:
        for n in range(600):
            w.write_table(rows_at([n], f"s{n % 7}"))
    tl.ok("append", "readings", tmp_path / "rows.arrow", "--rows-per-commit", "1")
    info = tl.info("readings")
    assert info["version"] > 600 and info["manifests"] <= 30
    tl.ok("maintain", "readings")
    assert tl.info("readings")["manifests"] <= 10
    assert tl.sql("select count(*) as n from readings").to_pylist() == [{"n": 600}]
    assert kinds(tl) == []


# ---- upgrade ------------------------------------------------------------------------------------------------------------

def old_table(tl, name="readings"):
    """A table as Timelake 0.4 left it: format 0.2.0, no insertion time, keys that stand twice in one file, no index."""
    create(tl, name, "--no-ingest-time", "--no-dedup")
    rows = pa.concat_tables([rows_at(range(50), "a", 0.0), rows_at(range(50), "a", 1000.0), rows_at(range(2000, 2050), "b")])
    tl.append(name, rows, "--no-maintain")
    directory = tl.table_dir(name)
    metadata = lakes.metadata_file(directory)
    content = json.loads(metadata.read_text())
    content["properties"].update({"timelake.dedup": "true", "timelake.format-version": "2"})
    for s in content["snapshots"]:
        s["summary"] = {k: v for k, v in s["summary"].items() if not k.startswith("timelake.last-value")}
    metadata.write_text(json.dumps(content))
    (directory / "metadata" / "timelake-head").unlink()
    return pa.concat_tables([rows.slice(50, 50), rows.slice(100)])


def test_upgrade_of_a_table_with_copies_inside_its_files(tl, peer):
    expected = old_table(tl)
    assert kinds(tl) == ["duplicate-keys"]
    steps = ["set the format version from 0.2.0 to 0.3.0", "write 1 files anew that hold a key twice", "build the last-value index"]
    assert tl.ok("upgrade", "readings", "--dry-run").splitlines() == ["default.readings: would:", *(f"  {s}" for s in steps)]
    [before] = tl.info("readings")["snapshots"]
    out = tl.ok("upgrade", "readings").splitlines()
    assert out[0] == "default.readings: did:" and out[1:3] == [f"  {s}" for s in steps[:2]]
    assert out[-1].startswith("default.readings: v2 → v") and out[-1].endswith(f"; undo: timelake rollback default.readings {before['id']}")
    all_engines(tl, expected)
    views = lakes.peer_views(peer, tl.lake, "readings")
    lakes.same(views.clean, expected, key=KEY, columns=COLUMNS)
    assert views.latest.num_rows == lakes.read_latest(tl, "readings").num_rows == 2
    assert kinds(tl) == []
    assert tl.ok("upgrade", "readings").startswith("default.readings: already current (v")
    assert tl.json("upgrade", "--json")[0]["steps"] == []
    tl.ok("rollback", "readings", before["id"])
    assert tl.sql("select count(*) as n from readings").to_pylist() == [{"n": 100}]


def test_upgrade_of_a_table_of_the_first_versions(tl):
    """No format version at all."""
    expected = old_table(tl)
    metadata = lakes.metadata_file(tl.table_dir("readings"))
    content = json.loads(metadata.read_text())
    del content["properties"]["timelake.format-version"]
    metadata.write_text(json.dumps(content))
    [did] = tl.json("upgrade", "readings", "--json")
    assert did["steps"][0] == "set the format version from 0.1.0 to 0.3.0"
    assert did["version_before"] == 2 and did["keep_snapshots_until_ms"] > time.time() * 1000 + 6 * 86400000
    all_engines(tl, expected)
    assert kinds(tl) == []


def test_upgrade_without_compaction_still_mends_copies(tl):
    expected = old_table(tl)
    tl.append("readings", rows_at(range(3000, 3010), "c"), "--no-maintain")
    tl.ok("upgrade", "readings", "--no-compact")
    lakes.same(lakes.timelake(tl, "readings", dedup=False), pa.concat_tables([expected, rows_at(range(3000, 3010), "c")]), key=KEY, columns=COLUMNS)
    assert kinds(tl) == []


def test_upgrade_of_the_peers_table(tl, lake, peer):
    peer.create(lake, "readings", SCHEMA, time_column="time", series_key=["sensor"])
    for b in range(3):
        peer.append(lake, "readings", rows_at(range(b, 300), v=b))
    tl.ok("upgrade")
    assert kinds(tl) == []
    assert tl.ok("upgrade").startswith("default.readings: already current")
    assert peer.info(lake, "readings")["rows"] == 300
