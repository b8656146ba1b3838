"""The same table in every format."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

FORMATS = ["csv", "tsv", "csv.gz", "parquet", "npz", "arrow", "stream.arrow", "feather", "jsonl"]


def write(folder: Path, ending: str, columns: dict, stem: str = "table") -> Path:
    path = folder / f"{stem}.{ending}"
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    table = pa.table({name: pa.array(values) for name, values in arrays.items()})
    if ending == "npz":
        np.savez(path, **arrays)
    elif ending == "parquet":
        pa.parquet.write_table(table, path)
    elif ending == "feather":
        pa.feather.write_feather(table, path)
    elif ending == "arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    elif ending == "stream.arrow":
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    elif ending == "jsonl":
        table.to_pandas().to_json(path, orient="records", lines=True, double_precision=15)
    else:
        table.to_pandas().to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    return path


def text(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
