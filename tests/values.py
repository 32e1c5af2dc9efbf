"""Rows with every column type and the values that break things: nulls, NaN, -0.0, extremes, times before 1970, odd texts.

    table = values.everything()          one row per value, keyed by (series, time), in no order
    values.everything(without={"tm"})    without some columns (engines that cannot read a type)
"""
import datetime
import decimal
import math
import uuid

import pyarrow as pa

UTC = datetime.timezone.utc
D = decimal.Decimal


def _when(*args, tz=None):
    return datetime.datetime(*args, tzinfo=tz)


STAMPS = [(1970, 1, 1), (1969, 12, 31, 23, 59, 59, 999999), (2025, 3, 30, 1, 30), (1883, 11, 18, 12, 3, 58), (9999, 12, 31, 23, 59, 59, 999999),
          (1582, 10, 15), (2262, 4, 11, 23, 47, 16, 854776), (1677, 9, 21)]
TEXTS = ["", "a", "\0", "ä", "\ud7ff", "\ue000", "\U0010ffff", "x" * 16, "x" * 15 + "\U0010ffff", "日本語" * 30, "\r\n\t\"',;\\", "y" * 70_000,
         "NA", "null", "NaN", "1e5", " blank ", "e\u0301", "\u2019" * 20]

# name -> (type, values); a null follows the values
COLUMNS = {
    "b": (pa.bool_(), [True, False]),
    "i": (pa.int32(), [0, -1, 2**31 - 1, -2**31, 42]),
    "l": (pa.int64(), [0, -1, 2**63 - 1, -2**63, 2**53 + 1, -(2**53) - 1]),
    "f": (pa.float32(), [0.0, -0.0, math.nan, math.inf, -math.inf, 1e-45, 3.4028234663852886e38, 16777216.0, -1.5]),
    "d": (pa.float64(), [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, 0.1, 2.0**53, -273.15]),
    "s": (pa.string(), TEXTS),
    "y": (pa.binary(), [b"", b"\0", b"\xff" * 40, b"PAR1", bytes(range(256)), b"\xc3\x28"]),
    "x": (pa.binary(4), [b"\0\0\0\0", b"\xff\xff\xff\xff", b"abcd"]),
    "dt": (pa.date32(), [datetime.date(1970, 1, 1), datetime.date(1969, 12, 31), datetime.date(1, 1, 1), datetime.date(9999, 12, 31),
                         datetime.date(2024, 2, 29)]),
    "tm": (pa.time64("us"), [datetime.time(0), datetime.time(23, 59, 59, 999999), datetime.time(12, 30, 0, 1)]),
    "ts": (pa.timestamp("us"), [_when(*s) for s in STAMPS]),
    "tz": (pa.timestamp("us", "UTC"), [_when(*s, tz=UTC) for s in STAMPS]),
    "d9": (pa.decimal128(9, 2), [D("0.00"), D("9999999.99"), D("-9999999.99"), D("0.01"), D("-0.01")]),
    "d18": (pa.decimal128(18, 6), [D("0.000000"), D("999999999999.999999"), D("-999999999999.999999"), D("327.680000")]),
    "d38": (pa.decimal128(38, 10), [D("0E-10"), D("9" * 28 + "." + "9" * 10), D("-" + "9" * 28 + "." + "9" * 10), D("0.0000000001"), D("-1.5000000000")]),
    "li": (pa.list_(pa.int32()), [[], [1], [None], [1, None, -2**31], [0] * 300]),
    "ls": (pa.list_(pa.string()), [[], [""], ["ä", None, "x" * 100]]),
    "m": (pa.map_(pa.string(), pa.float64()), [[], [("k", 1.5)], [("a", None), ("b", -0.0), ("", math.inf)]]),
    "st": (pa.struct([("a", pa.int32()), ("b", pa.string())]), [{"a": 1, "b": "x"}, {"a": None, "b": None}, {"a": None, "b": ""}]),
    "deep": (pa.list_(pa.struct([("n", pa.list_(pa.int64())), ("t", pa.timestamp("us", "UTC"))])),
             [[], [{"n": [1, None], "t": _when(1969, 7, 20, 20, 17, 40, tz=UTC)}, None, {"n": None, "t": None}, {"n": [], "t": None}]]),
}
UUIDS = [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1), uuid.UUID("12345678-9abc-4def-8123-456789abcdef")]
NESTED = {"li", "ls", "m", "st", "deep"}


def everything(without=frozenset(), rows=24, start=0):
    """`rows` rows; every value of every column occurs when rows >= 20. The series are "", "a", "ä" and null; times go over
    three days around 1970. `start` shifts the times, so that two calls do not share keys."""
    names = [n for n in COLUMNS if n not in without]
    series = ["", "a", None, "ä"]
    columns = {
        "series": pa.array([series[i % 4] for i in range(rows)], pa.string()),
        "time": pa.array([(start + rows - i) * 10_800_000_000 - 86_400_000_001 for i in range(rows)], pa.int64()).cast(pa.timestamp("us", "UTC")),
    }
    for name in names:
        kind, values = COLUMNS[name]
        cycle = [*values, None]
        columns[name] = pa.array([cycle[i % len(cycle)] for i in range(rows)], kind)
    return pa.table(columns)


def with_uuid(table):
    """The same with a column u of type uuid."""
    cycle = [u.bytes for u in UUIDS] + [None]
    storage = pa.array([cycle[i % 4] for i in range(table.num_rows)], pa.binary(16))
    return table.append_column("u", pa.ExtensionArray.from_storage(pa.uuid(), storage))
