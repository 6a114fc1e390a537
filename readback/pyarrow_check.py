"""Reads Parquet files with pyarrow and prints their rows as JSON, one a line.

Each row is an object of the values that are not null, by column name: integers and
booleans as they are, doubles as C99 hex text, text as text, bytes as {"hex": ...},
times as {"us": microseconds since 1970}.
"""

import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq


def cell(kind, value):
    if pa.types.is_timestamp(kind):
        return {"us": value}
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, float):
        return {"float": value.hex()}
    return value


def main():
    for path in sys.argv[1:]:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
        columns = []
        for name, column in zip(table.column_names, table.columns):
            kind = column.type
            if isinstance(kind, pa.BaseExtensionType):
                column = pa.chunked_array([c.storage for c in column.chunks], kind.storage_type)
                kind = column.type
            if pa.types.is_timestamp(kind):
                if kind.unit != "us" or kind.tz != "UTC":
                    raise SystemExit(f"{path}: column {name} is {kind}")
                column = column.cast(pa.int64())
            columns.append((name, kind, column.to_pylist()))
        for i in range(table.num_rows):
            row = {name: cell(kind, values[i]) for name, kind, values in columns if values[i] is not None}
            print(json.dumps(row))


main()
