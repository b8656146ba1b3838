import pyarrow as pa
import pyarrow.parquet
import pytest

from caveat.files import read_predictions


@pytest.fixture
def read(tmp_path):
    def made(columns, **options):
        path = tmp_path / "table.parquet"
        table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        pa.parquet.write_table(table, path)
        return read_predictions(path, **options)

    return made
