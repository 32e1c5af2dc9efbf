"""A year of real weather from one CSV file: the rows that were in the file, once, whoever reads them."""
import pyarrow.compute as pc
import pytest

import lakes

IMPORT = ("--time-column", "time_hour", "--series-key", "origin", "--chunk", "month", "--null", "NA")
TOTALS = "count(*) as n, sum(temp::decimal(18, 4)) as temp, sum(humid::decimal(18, 4)) as humid"


@pytest.fixture(scope="module")
def csv_rows(weather):
    """The file as DuckDB reads it, in the types that every column of it fits."""
    return lakes.duckdb_connection().execute(f"""
        select * replace (hour::bigint as hour, time_hour::timestamptz as time_hour)
        from read_csv('{weather}', nullstr='NA', types={{'time_hour': 'timestamptz'}})""").to_arrow_table()


@pytest.fixture(scope="module")
def csv_totals(csv_rows):
    con = lakes.duckdb_connection()
    con.register("weather_csv", csv_rows)
    return con.execute(f"select {TOTALS} from weather_csv").fetchone()


def totals(tl):
    return tuple(tl.sql(f"select {TOTALS} from weather").to_pylist()[0].values())


def in_types_of(table, other):
    """The table with the columns of `other` in other's types; a cast that would lose something fails."""
    return table.select(other.column_names).cast(other.schema)


def test_import_keeps_every_row_and_sum(tl, weather, csv_rows, csv_totals):
    tl.ok("import", "weather", weather, *IMPORT)
    assert csv_totals[0] == 26115
    assert totals(tl) == csv_totals
    rows = tl.sql("select * from weather")
    lakes.same(in_types_of(rows, csv_rows), csv_rows, key=["origin", "time_hour"])
    assert pc.sum(rows.column("wind_gust").is_null()).as_py() == pc.sum(csv_rows.column("wind_gust").is_null()).as_py() > 0


def test_imported_twice_the_rows_stand_once(tl, weather, csv_rows, csv_totals):
    tl.ok("import", "weather", weather, *IMPORT)
    tl.ok("import", "weather", weather, "--null", "NA", "--no-maintain")
    assert totals(tl) == csv_totals
    lakes.same(in_types_of(tl.sql("select * from weather"), csv_rows), csv_rows, key=["origin", "time_hour"])
    tl.ok("append", "weather", weather, "--null", "NA", "--no-maintain")
    assert totals(tl) == csv_totals
    # the files hold every copy; what an engine sees that does not know Timelake
    assert lakes.duckdb(tl.table_dir("weather")).num_rows == 3 * 26115
    newest = lakes.newest(csv_rows, ["origin"], "time_hour")
    latest = lakes.read_latest(tl, "weather")
    assert newest.num_rows == 3
    lakes.same(in_types_of(latest, csv_rows), newest, key=["origin"])


@pytest.mark.parametrize("engine", ["pyiceberg", "duckdb", "polars"])
def test_engines_read_the_imported_rows(tl, weather, csv_rows, engine):
    tl.ok("import", "weather", weather, *IMPORT)
    rows = getattr(lakes, engine)(tl.table_dir("weather"))
    lakes.same(in_types_of(rows, csv_rows), csv_rows, key=["origin", "time_hour"])


def test_questions_get_the_answers_of_duckdb_over_the_csv(tl, weather, csv_rows):
    tl.ok("import", "weather", weather, *IMPORT)
    con = lakes.duckdb_connection()
    con.register("csv", csv_rows)
    # weeks begin on the weekday of 1970-01-01 here, as in 0.7.0; DuckDB by itself begins them on Mondays
    epoch = "time_hour, timestamptz '1970-01-01 00:00:00Z')"
    for question in (
        "select origin, count(*) as n, max(wind_gust) as gust, count(wind_gust) as gusts from weather group by all",
        "select time_bucket(interval '1 week', time_hour) as week, min(temp) as low, max(temp) as high from weather where origin = 'JFK' group by all",
        "select origin, time_hour, temp from weather where time_hour >= '2013-07-01 00:00:00Z' and time_hour < '2013-07-02 00:00:00Z'",
        "select count(*) as n from weather where wind_gust is null and pressure > 1010",
    ):
        question_to_csv = question.replace("from weather", "from csv").replace("'1 week', time_hour)", f"'1 week', {epoch}")
        expected = con.execute(question_to_csv).to_arrow_table()
        lakes.same(tl.sql(question), expected, key=expected.column_names)
