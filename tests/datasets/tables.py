"""Small tables in the form of the public ones."""

import io
import tarfile

import numpy as np


def uci_files(samples=40, splits=3, seed=0):
    """Return the text files of one table with its splits: the target is the second column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=samples)
    files = {"data": np.c_[X[:, 0], y, X[:, 1]], "index_features": [0, 2], "index_target": [1]}
    files["n_splits"] = [splits]
    for i in range(splits):
        order = rng.permutation(samples)
        files[f"index_train_{i}"], files[f"index_test_{i}"] = order[5:], order[:5]
    texts = {}
    for name, values in files.items():
        stream = io.StringIO()
        np.savetxt(stream, values, fmt="%.17g")
        texts[name] = stream.getvalue()
    return texts


def write_archive(folder, tables, ending="xz"):
    """Write an archive as the public one is: ``tables`` has the files of each table."""
    place = folder / "uci_regression"
    place.mkdir(exist_ok=True)
    with tarfile.open(place / f"UCI_Datasets.tar.{ending}", f"w:{ending}") as archive:
        for table, texts in tables.items():
            for name, text in texts.items():
                info = tarfile.TarInfo(f"UCI_Datasets/{table}/data/{name}.txt")
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text.encode()))
        info = tarfile.TarInfo("UCI_Datasets/yacht/results")
        info.type = tarfile.DIRTYPE
        archive.addfile(info)


def write_california(folder, samples=60, seed=0):
    """Write a table with a category and missing values."""
    rng = np.random.default_rng(seed)
    (folder / "california_housing").mkdir(exist_ok=True)
    lines = ["longitude,total_bedrooms,ocean_proximity,median_house_value"]
    for i in range(samples):
        x, near = rng.normal(), rng.choice(["INLAND", "NEAR BAY"])
        rooms = "" if i % 7 == 0 else f"{rng.integers(1, 9)}"
        value = 2e5 + 5e4 * x + 1e5 * (near == "INLAND") + 1e4 * rng.normal()
        lines.append(f"{x:.4f},{rooms},{near},{value:.1f}")
    (folder / "california_housing" / "housing.csv").write_text("\n".join(lines))
